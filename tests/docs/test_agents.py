"""docs/agents.md shows what `cairn install` writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cairn.clients.formats import Keys, format_of
from cairn.clients.table import CLIENTS, NAME, Client, Machine

TEXT = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
SECTION = TEXT.partition("## What it writes\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_document_shows_what_is_written_for_a_client(client: Client) -> None:
    shown = re.search(
        rf"^\*\*{client.title}\*\*.*?```(?:json|toml)\n(.*?)```", SECTION, re.DOTALL | re.MULTILINE
    )
    assert shown is not None
    edits: dict[Keys, object] = {(key,): value for key, value in client.preamble.items()}
    edits[client.container, NAME] = client.server("user", Path("/path/to/project"), "cairn")
    assert shown[1] == format_of(client.user_file(Machine())).edited("", edits)


def test_table_has_every_client_and_its_files() -> None:
    machine = Machine("linux", Path("~"), {})
    expected = [
        f"| {client.title} | `{client.name}` | `{client.user_file(machine).as_posix()}` | "
        + (f"`{client.project_files[0]}` |" if client.project_files else "none |")
        for client in CLIENTS
    ]
    rows = [line for line in SECTION.splitlines() if line.startswith("| ") and "`" in line]
    assert rows == expected
