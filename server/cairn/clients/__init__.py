"""The clients of agents on this machine: where each keeps its MCP servers, and how Cairn's server is added
and removed.

`table` lists the clients. `jsonc` and `toml_tables` edit settings files as text, through the interface in
`editing`. `instructions` edits the paragraph in `AGENTS.md`. `planning` decides on the changes, and
`applying` writes them.
"""
