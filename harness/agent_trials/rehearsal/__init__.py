"""Scripted doubles on loopback: a Messages API, its model, a documentation server."""
