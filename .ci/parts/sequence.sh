#!/usr/bin/env bash
# The quickstart from pilot to verified bundle, by the one documented sequence.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

make example
