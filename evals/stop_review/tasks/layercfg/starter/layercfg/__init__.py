"""Merges layers of configuration and says where each value comes from."""

__version__ = "1.1.0"
