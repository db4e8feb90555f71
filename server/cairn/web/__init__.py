"""The page in a browser: search, answers, files and the index, rendered by the server.

Who may see it, what its addresses are and how it looks belong here. What it shows is answered by `cairn.engine`.
"""
