"""Text as chunks: code by syntax, documents by headings, everything else by lines.

`chunker.chunk_text` makes them, `composite.composite_text` says what of one is embedded, `model.Chunk` is one.
Nothing is imported here: whoever only reads an index needs no parser.
"""
