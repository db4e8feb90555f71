"""The page in a browser: search, answers, files and the index, rendered by the server.

It contains the sign-in, the addresses and the looks. `cairn.engine` provides the content.
"""
