"""The MCP server: tools for agents, over stdio or HTTP.

It contains the protocol; `cairn.agents` has the tools, and `cairn.engine` answers them.
"""
