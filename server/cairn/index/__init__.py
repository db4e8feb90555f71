"""The index of one workspace folder: one SQLite file, one writer, many readers.

Tables, queries, vectors in memory, unsaved text and the thread that keeps all of it current belong here. How results
rank does not.
"""
