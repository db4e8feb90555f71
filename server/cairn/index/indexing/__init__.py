"""The indexing thread of a folder: its queue, what it reads, and its work in the background.

It decides when something is written; `cairn.index.store` writes it.
"""
