#!/usr/bin/env bash
# Whole sessions, tried from outside: every study of evals, refusals, interruptions, several workers under
# one cap, sessions killed at every step. Each starts programs and waits for them, which takes minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

make test ARGS="tests/acceptance tests/evals"
