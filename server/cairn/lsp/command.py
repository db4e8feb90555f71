"""`cairn lsp`."""

from __future__ import annotations

import sys

import click


@click.command()
def lsp() -> None:
    """Serve an editor over stdin and stdout (LSP)."""
    from cairn.lsp.early import answer_initialize

    stdout = sys.stdout.buffer
    sys.stdout = sys.stderr  # a stray print would break the protocol
    first, answered = answer_initialize(sys.stdin.buffer, stdout)

    from cairn.lsp.kept_bytecode import kept_bytecode
    from cairn.startup.interpreter import made_to_last

    with made_to_last(), kept_bytecode("server"):
        from cairn.lsp.server import serve_stdio

    sys.exit(serve_stdio(first, answered, stdout))
