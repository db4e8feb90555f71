"""Search of unsaved text: an index in memory that replaces files of the stored index, as if every document
were saved."""
