"""The append-only record of a run and the money rules that are folded from it."""
