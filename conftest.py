"""What this repository's own runs need; the plugin itself comes by its entry point."""

from __future__ import annotations

# Acceptance tests run an inner pytest and read its ledger back.
pytest_plugins = ["pytester"]
