"""The index in one SQLite file, as it is read."""
