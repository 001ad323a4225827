#!/usr/bin/env bash
# Whole sessions that take minutes: several workers under one cap, and sessions killed at every step.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

.venv/bin/python -m pytest -n auto tests/acceptance/test_workers.py tests/acceptance/test_resume.py
