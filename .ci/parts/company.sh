#!/usr/bin/env bash
# The suite in the company of the plugins that a user may have: nothing of theirs breaks us, and nothing
# of ours breaks them. They live in an environment of their own, so that the core is seen without them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

venv=.tools/company
python="$venv/bin/python"

[[ -x "$python" ]] || .venv/bin/python -m venv "$venv"
"$python" -m pip install --quiet --upgrade "pip>=25.1"
"$python" -m pip install --quiet --editable . --group test --group company

# Our runs make every warning an error, and pytest-asyncio warns until this is chosen.
pytest=("$python" -m pytest -o asyncio_default_fixture_loop_scope=function)

# Tests of what one of these plugins would break are skipped elsewhere, and here only if it is missing.
export IN_COMPANY=1

"${pytest[@]}" evals -m pilot
"${pytest[@]}" -n 2 --ignore=tests/real_cli --ignore=tests/real_codex --ignore=tests/browser \
    --ignore=tests/real_swebench --ignore=tests/acceptance --ignore=tests/evals
# Whole sessions in which their hooks and ours meet; the other ones have a part of their own.
"${pytest[@]}" -n 2 --cov=agent_trials --cov-report=term:skip-covered \
    tests/acceptance/test_ordinary_runs.py tests/acceptance/test_rehearsal.py \
    tests/acceptance/test_paid_runs.py
