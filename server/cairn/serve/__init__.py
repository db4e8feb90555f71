"""`cairn serve`: one process that runs the HTTP, MCP and LSP fronts over one host.

Starting, listening, stopping and the life of that process belong here. No front knows of it.
"""
