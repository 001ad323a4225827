"""Keeps the stock of a small warehouse in one JSON file."""

__version__ = "0.4.0"
