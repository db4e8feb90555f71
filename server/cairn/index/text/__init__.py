"""Exact text, the list of words and BM25: what one database says of what is written in it."""
