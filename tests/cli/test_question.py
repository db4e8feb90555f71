"""Questions of the command line, and who answers them."""

from __future__ import annotations

from cairn.attach.commands import ASKING
from cairn.cli.remote import COMMANDS


def test_an_engine_knows_every_command_that_is_sent_to_it() -> None:
    assert set(COMMANDS) == ASKING
