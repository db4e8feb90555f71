"""The interface for reading one index from many threads: connections, filters, chunks and vectors."""
