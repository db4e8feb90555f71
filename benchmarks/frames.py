"""Print Cairn's own stack frames from a front's handler to SQLite, in one `cairn/search`.

    python benchmarks/frames.py FOLDER

The frames of the event loop and those of the search's thread are counted together.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import cairn
from cairn.engine.engine import Engine
from cairn.engine.runner import Runner, answer
from cairn.lsp.language_server import build_server

OURS = str(Path(cairn.__file__).parent)
PARAMS = {"query": "where is a berth assigned"}
stacks: list[list[str]] = []


def profile(frame: FrameType | None, event: str, called: Any) -> None:
    """Record Cairn's stack when a search calls SQLite."""
    if event != "c_call" or called.__name__ != "execute":
        return
    stack = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(OURS):
            stack.append(f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_qualname}")
        frame = frame.f_back
    if "search.search" in stack and any("legs" in place for place in stack):
        stacks.append(stack[::-1])


def shown(front: str, before: list[str]) -> None:
    """Print the longest stack of each leg, after the frames that its front awaits on the event loop."""
    longest: dict[str, list[str]] = {}
    for stack in stacks:
        leg = next(place for place in stack if place.startswith("legs."))
        longest[leg] = max(longest.get(leg, []), [*before, *stack], key=len)
    for leg, stack in longest.items():
        print(f"{front}, {leg}: {len(stack)} frames\n  " + "\n  ".join(stack))
    stacks.clear()


if len(sys.argv) != 2:
    sys.exit(__doc__)
threading.setprofile(profile)
engine = Engine({"index": {"watch": False}})
engine.add_folder(Path(sys.argv[1]))
while not engine.progress().complete:
    threading.Event().wait(0.1)
runner = Runner(lambda: engine)
server = build_server()
server._runner = runner
asyncio.run(server.protocol.fm.features["cairn/search"](PARAMS))
shown("LSP", ["requests._register.<locals>.handle", "runner.Runner.work"])
asyncio.run(runner.answer("search", {**PARAMS, "limit": 5}, front="http"))
shown("HTTP", ["app._ask", "runner.Runner.work"])
sys.setprofile(profile)
answer(engine.request(), "search", {**PARAMS, "limit": 3})
sys.setprofile(None)
shown("command line", ["questions.search", "questions._ask"])
runner.stop()
