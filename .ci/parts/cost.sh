#!/usr/bin/env bash
# What the plugin may cost a pytest run, as a ratio of processor time: see benchmarks/collection.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

.venv/bin/python benchmarks/collection.py 7
