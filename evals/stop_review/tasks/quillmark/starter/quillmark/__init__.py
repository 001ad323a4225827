"""Turns a small, strict kind of Markdown into HTML."""

from quillmark.document import render

__all__ = ["render"]
__version__ = "0.9.0"
