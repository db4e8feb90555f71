"""Search of unsaved text: open documents, indexed in memory, replace their files in the stored index."""
