"""Vectors of chunks: how they are made, stored, kept in memory and compared."""
