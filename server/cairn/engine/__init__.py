"""The facade for all fronts: the open folders, the methods of the protocol, and the running of requests.

Each method is one module. Searching and ranking belong to `cairn.retrieval` and `cairn.discovery`; the fronts
display the answers.
"""
