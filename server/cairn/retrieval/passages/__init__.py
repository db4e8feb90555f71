"""Passages: the lines of the files found that answer, ranked as carefully as the files."""
