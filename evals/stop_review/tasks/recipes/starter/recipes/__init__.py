"""Reads recipes and scales them."""

__version__ = "0.2.0"
