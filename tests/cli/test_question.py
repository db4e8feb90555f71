"""Which commands an engine in another process can answer."""

from __future__ import annotations

from cairn.attach.answered_commands import QUERY_COMMANDS
from cairn.cli.remote import COMMANDS


def test_engine_accepts_every_command_that_is_sent_to_it() -> None:
    assert set(COMMANDS) == QUERY_COMMANDS
