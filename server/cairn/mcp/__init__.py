"""The MCP server: tools for agents, over stdio or HTTP.

This package contains the protocol; `cairn.agents` defines the tools, and `cairn.engine` answers them.
"""
