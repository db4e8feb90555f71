"""Processes that read files and prepare their rows, so that indexing uses more than one core."""
