"""Figures folded from a ledger and its openings alone."""
