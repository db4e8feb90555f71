"""The index of one workspace folder: one SQLite file, one writer, many readers. Ranking is elsewhere.

Each package imports only those before it:

- `store`: the file with its tables, the one writer, its lock and maintenance, and requests of other
  processes.
- `text` and `vectors`: words and vectors in one database. Neither imports the other.
- `reader`: `IndexReader`, through which all threads read one index.
- `queries`: queries for files, names, words and relations. `overlay`: unsaved text over an index, with the
  same interface.
- `indexing`: the thread that keeps the index equal to the folder.
"""
