"""Ask the tools about a small project, as a model does."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cairn.agents.shown_lines import ShownLines
from cairn.agents.tools import tool_named
from cairn.engine.engine import Engine
from tests.harbour import HARBOUR

QUESTION = "how are ships assigned to berths"
SECRET = "-----BEGIN OPENSSH PRIVATE KEY-----\nhush\n-----END OPENSSH PRIVATE KEY-----\n"
STEPS = "".join(
    f"def step_{n}(ship):\n    '''Load part {n} of the ship.'''\n    return moor(ship)\n\n\n"
    for n in range(60)
)
PLAN = f"""from harbour.loading import *


def load_all(ship):
{"".join(f"    step_{n}(ship)" + chr(10) for n in range(60))}

def plan_week(ship):
    if ship:
        plan_day(ship)
        note(ship)
        plan_day(ship)


def plan_day(ship):
    first = ship
    second = first
    return note(second)


def note(ship):
    first = ship
    second = first
    third = second
    return third
"""
FILES = {
    **HARBOUR,
    "src/harbour/loading.py": f"def moor(ship):\n    return ship\n\n\n{STEPS}"
    "def pair(one, two):\n    return moor(one), moor(two)\n",
    "src/harbour/plan.py": PLAN,
    "id_rsa": SECRET,
    "notes.bak.log": "a log\n",
    ".cairnignore": "*.log\n",
}
Ask = Callable[..., str]
PLACE = re.compile(r"^(?:- )?(?P<place>[\w./-]+\.(?:py|md|toml):\d+(?:-\d+)?)(?=[ :]|$)", re.MULTILINE)
MORE = re.compile(r"more: (?:cursor|path)=(\S+)")


def indexed(*folders: Path) -> Engine:
    engine = Engine({"search": {"legDeadlineMs": 60_000}})
    for folder in folders:
        engine.add_folder(folder)
    waiting = threading.Event()
    while not engine.progress().complete:
        waiting.wait(0.02)
    return engine


def asking(engine: Engine, session: ShownLines | None = None) -> Ask:
    def ask(tool: str, **arguments: Any) -> str:
        answer = tool_named(tool).answer(engine.request(), arguments, front="mcp", session=session)
        assert answer.data is None
        (text,) = answer.texts
        return text

    return ask


def pages(ask: Ask, tool: str, most: int, **arguments: Any) -> list[str]:
    """Return the answer and those after it, `most` at most."""
    texts = [ask(tool, **arguments)]
    while len(texts) < most and (more := MORE.search(texts[-1])):
        texts.append(ask(tool, **arguments, cursor=more[1]))
    return texts
