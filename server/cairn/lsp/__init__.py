"""The language server: it reads an editor's messages, queries the engine and writes the answers.

This package contains framing, handlers, progress and streaming, and nothing that other fronts could use.
"""
