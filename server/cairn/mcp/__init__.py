"""The MCP server: tools for agents, over stdio or HTTP.

What a tool is called, how its manual reads and how its answer reads to a model belong here. The answers themselves are
those of `cairn.engine`.
"""
