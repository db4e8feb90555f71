"""Call graph of a folder: the symbol tables of all files, and the definitions that their names refer to."""
