"""Who calls what: symbol tables of all files, and what their names refer to."""
