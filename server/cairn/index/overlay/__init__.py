"""Unsaved text: an index in memory over the stored one, read as if everything were saved."""
