#!/usr/bin/env bash
# The report's pages in Debian's chromium: nothing is refused by their policy, nothing overflows. Where
# there is no chromium it is installed; where that cannot be, this part fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if ! command -v chromium >/dev/null 2>&1; then
    as_root=()
    if [[ "$(id -u)" != 0 ]]; then as_root=(sudo); fi
    "${as_root[@]}" apt-get update
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends chromium
fi
chromium --version --no-sandbox

CI="${CI:-true}" .venv/bin/python -m pytest tests/browser
