"""Rank passages: windows of lines in the files found, scored as carefully as the files."""
