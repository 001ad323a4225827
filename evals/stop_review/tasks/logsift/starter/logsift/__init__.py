"""Reads access logs of web servers and says what happened."""

__version__ = "1.3.0"
