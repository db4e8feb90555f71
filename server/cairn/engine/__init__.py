"""The facade that all fronts (LSP, HTTP, MCP, CLI) call: open folders, protocol methods and requests."""
