"""The language server: reads an editor's messages, queries the engine and writes the answers.

It contains LSP's framing, handlers, progress and streaming, and nothing that other fronts could use as well.
"""
