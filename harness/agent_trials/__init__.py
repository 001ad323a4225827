"""Paired, budgeted, blind-graded trials of coding agents as pytest items."""
