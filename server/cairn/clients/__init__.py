"""The clients of agents on this machine. Cairn's MCP server is added to their settings, and removed.

`table` lists the clients. `jsonc` and `toml_tables` edit settings files as text, through the interface in
`editing`. `instructions` edits the paragraph in `AGENTS.md`. `planning` decides on the changes, in which
`hidden` hides keys and tokens. `applying` writes them through `files`.
"""
