#!/usr/bin/env bash
# The real Codex CLI, at the version that its adapter is pinned to, against a local double.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version="$(awk -F '"' '/^VERSION = / { print $2 }' harness/agent_trials/agents/codex_options.py)"
folder=".tools/codex-$version"
bin="$PWD/$folder/node_modules/.bin"

if ! command -v npm >/dev/null; then
    echo "npm is missing: install Node.js; the real CLI comes as @openai/codex@$version." >&2
    exit 1
fi
if [[ "$("$bin/codex" --version 2>/dev/null </dev/null | awk 'NR == 1 { print $2 }')" != "$version" ]]; then
    npm install --no-save --no-fund --no-audit --prefix "$folder" "@openai/codex@$version"
fi
"$bin/codex" --version </dev/null

.venv/bin/python -m pytest -n auto --dist loadfile tests/real_codex
