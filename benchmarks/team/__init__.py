"""Measures the team store beside the index file."""
