"""The index of one workspace folder: one SQLite file, one writer, many readers. It does not rank results.

Each package imports only those before it:

- `store`: the SQLite file: its tables, its one writer, its lock, its maintenance, and requests to the writer.
- `text` and `vectors`: keyword and vector search in one database. Neither imports the other.
- `reader`: `IndexReader`, through which all threads read one index.
- `queries`: lookups of files, names, words and relations. `overlay`: unsaved text over an index, read by the
  same interface.
- `indexing`: the thread that keeps the index equal to the folder.
"""
