"""Plans who works which shift."""

__version__ = "2.1.0"
