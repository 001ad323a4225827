"""Keeps pytest out of the tasks' own tests: they belong to what an agent is given."""

from __future__ import annotations

collect_ignore = ["tasks"]
