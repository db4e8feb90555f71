"""How many of a function's callers Cairn finds, measured by language servers."""
