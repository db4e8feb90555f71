"""Unsaved text: an index in memory over the stored one, read as if every document were saved."""
