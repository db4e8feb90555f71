"""What a file's syntax tree says of names: what is defined, called, imported, inherited, read and written."""
