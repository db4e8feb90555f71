"""Vectors of chunks: how they are stored, kept in memory and compared."""
