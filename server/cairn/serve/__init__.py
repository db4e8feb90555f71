"""`cairn serve`: one process that runs the HTTP, MCP and LSP fronts over one host.

This package starts, listens and stops. The fronts do not depend on it.
"""
