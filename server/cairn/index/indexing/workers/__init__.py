"""Processes that read and prepare files, so that indexing uses more than one core."""
