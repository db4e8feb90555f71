"""Keywords, exact text and vocabulary: how an index is searched by what is written."""
