"""The indexing thread of a folder: its queue, its scans, and its background work. This package decides when
the index is written; `cairn.index.store` writes it."""
