"""Text search in one database: exact text, the list of words, and BM25."""
