"""Texts to vectors: the code model that comes with Cairn, and larger ones that are installed."""
