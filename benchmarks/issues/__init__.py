"""Measures whether the text of an issue finds the files and functions that its fix changed."""
