"""The clients of agents on this machine. Cairn's MCP server is added to their settings, and removed.

`table` lists the clients. `changes` plans and writes the changes of their settings, and of the paragraph in
`AGENTS.md`, which `instructions` edits. `formats` edits settings, through `jsonc` for JSON, and
`settings_files` reads and writes them.
"""
