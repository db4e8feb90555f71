"""The index of one workspace folder: one SQLite file, one writer, many readers. It does not rank results.

Each package imports only those before it:

- `store`: the SQLite file: its tables, its one writer, its lock, its maintenance, and requests to the writer.
- `vectors`: vectors of chunks: how they are made, stored, kept in memory and compared.
- `reader`: `IndexReader`, through which all threads read one index, and what all kinds of index share:
  filters, records, postings, BM25, exact text. `sqlite`: its implementation for one index file.
- `queries`: lookups of files, names, words and relations. `overlay`: unsaved text over an index, read by the
  same interface.
- `references`: the graph of definitions and the places that refer to them.
- `indexing`: the thread that keeps the index equal to the folder.
- `postgres` and `remote`: the index of a team, in a database, and read through a server.
"""
