"""The clients of agents on this machine: where each keeps its MCP servers, and how Cairn's is written there and taken away.

`table` names the clients, `jsonc` and `toml_tables` edit their files as text (`editing` is what they have in common), `instructions` writes the paragraph in
`AGENTS.md`, `planning` says what is to be written, and `applying` writes it.
"""
