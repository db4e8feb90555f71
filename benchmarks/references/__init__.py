"""Measures by language servers how many of a function's callers Cairn finds."""
