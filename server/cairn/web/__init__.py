"""The web pages: search, answers, files and the state of the index, rendered by the server.

This package contains the sign-in, the addresses and the style; `cairn.engine` provides the content.
"""
