#!/usr/bin/env bash
# The real Claude Code CLI, at the version that the quickstart is pinned to, against local doubles.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version="$(.venv/bin/python -c 'import tomllib
with open("evals/quickstart/study.toml", "rb") as file:
    print(tomllib.load(file)["transports"]["cli"]["version"])')"
folder=".tools/claude-$version"
bin="$PWD/$folder/node_modules/.bin"

if ! command -v npm >/dev/null; then
    echo "npm is missing: install Node.js; the real CLI comes as @anthropic-ai/claude-code@$version." >&2
    exit 1
fi
if [[ "$("$bin/claude" --version 2>/dev/null </dev/null | awk 'NR == 1 { print $1 }')" != "$version" ]]; then
    npm install --no-save --no-fund --no-audit --prefix "$folder" "@anthropic-ai/claude-code@$version"
fi
"$bin/claude" --version </dev/null

# MCP servers that others wrote. The pins are those of tests/real_cli/test_real_servers.py.
npm install --no-save --no-fund --no-audit --prefix .tools/mcp \
    "@modelcontextprotocol/server-everything@2026.8.31"
[[ -x .tools/mcp/python/bin/python ]] || .venv/bin/python -m venv .tools/mcp/python
.tools/mcp/python/bin/python -m pip install --quiet "mcp-server-git==2026.10.19"

.venv/bin/python -m pytest -n auto --dist loadfile tests/real_cli
PATH="$bin:$PATH" make pilot
