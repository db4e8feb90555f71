"""Queries of an index: words, files, names and their relations. They include a reader's unsaved text."""
