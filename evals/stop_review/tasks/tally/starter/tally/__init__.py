"""Plain-text double-entry bookkeeping."""

__version__ = "0.7.0"
