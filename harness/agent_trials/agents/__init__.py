"""The ways to a model: each takes one question and gives back what it showed."""
