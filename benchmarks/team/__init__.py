"""Compares the team store with the index file."""
