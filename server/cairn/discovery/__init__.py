"""Discovery: nine stages from a question to a prompt with cited evidence.

Each stage is a function; the module of each group of stages says which ones it has, and `pipeline` runs them
in order. Only two stages search, with an `IndexedSearcher`."""
