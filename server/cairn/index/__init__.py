"""The index of one workspace folder: one SQLite file, one writer, many readers. How results rank is decided elsewhere.

Each package imports only those before it:

- `store`: the file. Its tables, the one writer, its lock and upkeep, what other processes ask of the writer.
- `text` and `vectors`: what one database says of words and of vectors. Neither imports the other.
- `reader`: `IndexReader`, through which all threads read one index.
- `queries`: questions to a reader about files, names, words and relations. `overlay`: unsaved text over an index,
  read by the same interface.
- `indexing`: the thread that keeps the index equal to the folder.
"""
