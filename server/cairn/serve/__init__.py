"""`cairn serve`: one process that runs the HTTP, MCP and LSP fronts over one host.

It contains starting, listening and stopping. The fronts do not depend on it.
"""
