"""The reader of an index in one SQLite file."""
