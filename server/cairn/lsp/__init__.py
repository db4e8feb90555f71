"""The language server: it reads an editor's messages, asks the engine and writes the answers.

Framing, handlers, progress and streaming of LSP belong here. What other fronts could need as well does not.
"""
