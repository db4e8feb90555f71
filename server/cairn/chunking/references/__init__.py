"""Names in a file's syntax tree: definitions, calls, imports, supertypes, reads and writes."""
