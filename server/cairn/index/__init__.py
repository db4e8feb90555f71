"""The index of one workspace folder: one SQLite file, one writer, many readers."""
