#!/usr/bin/env bash
# The real swebench, at the version that the agent-task study is pinned to, in an environment of its own: its
# report builder, and its evaluation where no Docker daemon answers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version="$(.venv/bin/python -c 'import tomllib
with open("evals/agent_task/study.toml", "rb") as file:
    print(tomllib.load(file)["evaluation"]["harness_version"])')"
python=".tools/swebench/bin/python"

[[ -x "$python" ]] || .venv/bin/python -m venv .tools/swebench
if [[ "$("$python" -c 'import importlib.metadata as m; print(m.version("swebench"))' 2>/dev/null)" != "$version" ]]; then
    "$python" -m pip install --quiet "swebench==$version"
fi

.venv/bin/python -m pytest tests/real_swebench
