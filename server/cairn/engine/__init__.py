"""The one facade for all fronts: open folders, the methods of the protocol, and how a request is run.

Each method is one module. What is found and how it ranks belongs to `cairn.retrieval` and `cairn.discovery`; how an
answer is shown belongs to the fronts.
"""
