"""Lists the compared systems, each with the loops among which one is chosen."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

from answers.facts import FactQuestion
from answers.workplaces import Workplace
from attrs import frozen

from agents.clients import Server, connected
from agents.grep import DEFINITIONS, Tree, TunedGrep, WholeFileGrep
from agents.indexed import CairnLoop, SembleLoop
from agents.loops import Step, tokens

CAIRN, CAIRN_SEARCH, TUNED, USUAL, SEMBLE = (
    "cairn",
    "cairn, search and read alone",
    "tuned grep",
    "grep, whole files",
    "semble",
)
Loop = CairnLoop | TunedGrep | WholeFileGrep | SembleLoop

LOOPS: Mapping[str, Mapping[str, Loop]] = {
    CAIRN: {
        **{f"{count} × discover, search, read": CairnLoop(count) for count in (1, 2, 3, 4, 5)},
        **{
            f"{count} × discover {size:,} and {growth:g} times as much each time, search, read": CairnLoop(
                count, size, growth
            )
            for size in (500, 750, 1_500)
            for growth in (1.0, 2.0)
            for count in (2, 4)
        },
        "search 1,000, 4 × discover, read": CairnLoop(4, search_tokens=1_000, first_search=True),
    },
    CAIRN_SEARCH: {
        f"{count} × search {size:,} of {limit}, read": CairnLoop(0, None, 1.0, count, size, limit)
        for size in (500, 1_000, 1_500, 2_000, 3_000, 4_000)
        for count in (1, 2)
        for limit in (5, 10)
    },
    TUNED: {
        f"windows of ±{around}, {page:,} tokens{growing}": TunedGrep(around, page=page, growth=growth)
        for around in (3, 5, 8)
        for page in (500, 1_000, 2_000)
        for growth, growing in (
            (1.0, ""),
            (1.5, " and 1.5 times as much each time"),
            (2.0, " and 2 times as much each time"),
        )
    },
    USUAL: {
        f"{words} words{' together' if together else ''}, {files} files": WholeFileGrep(
            words, together, files=files
        )
        for words, together in ((1, False), (2, False), (3, False), (2, True))
        for files in (2, 4, 8)
    },
    SEMBLE: {
        f"{top_k} results, {lines or 'all'} lines of {content}, then {then}": SembleLoop(
            top_k, lines, content, then
        )
        for top_k in (5, 10, 20)
        for lines in (10, None)
        for content in ("code", "all")
        for then in ("windows", "files", "related")
        if top_k == 5 or then != "related"
    },
}
"""The loops by system and by a description."""

_CONTENT = {"code": ("code",), "all": ("code", "docs", "config")}
_READY_SECONDS = 300.0
_CONFIG = "[search]\nleg_deadline_ms = 60000\n[agents]\nrepeat_lines = true\n"
"""The high deadline keeps a busy machine from breaking off a leg of a search. Loops share a connection."""


@frozen
class Tools:
    """All servers and tools for one checkout."""

    tree: Tree
    cairn: Server | None
    semble: Mapping[str, Server]

    def steps(self, loop: Loop, question: FactQuestion) -> Iterator[Step]:
        """Return the steps of a loop for a question."""
        if isinstance(loop, CairnLoop):
            assert self.cairn is not None
            return loop.steps(self.cairn, question.text)
        if isinstance(loop, SembleLoop):
            return loop.steps(self.semble[loop.content], self.tree, question.text)
        return loop.steps(self.tree, question.text)

    def definitions(self, loop: Loop) -> float:
        """Return the tokens of the definitions of the tools that a loop uses."""
        if isinstance(loop, CairnLoop):
            assert self.cairn is not None
            return tokens(self.cairn.definitions)
        if isinstance(loop, SembleLoop):
            reading = [each for each in DEFINITIONS if each["name"] == "Read"]
            return tokens(self.semble[loop.content].definitions) + tokens(_compact(reading))
        return tokens(_compact(DEFINITIONS))


@contextmanager
def opened(place: Workplace, semble: Path | None, *, cairn: bool = True) -> Iterator[Tools]:
    """Open the tools for a checkout: Cairn's over a complete index, and semble's if an interpreter has it."""
    with ExitStack() as stack:
        temporary = Path(stack.enter_context(TemporaryDirectory(prefix="agents-")))
        server = stack.enter_context(_cairn(place, temporary)) if cairn else None
        others = (
            {
                name: stack.enter_context(_semble(semble, place.tree, content, temporary / name))
                for name, content in _CONTENT.items()
            }
            if semble
            else {}
        )
        yield Tools(Tree(place.tree), server, others)


@contextmanager
def _cairn(place: Workplace, settings: Path) -> Iterator[Server]:
    with place.served():  # Serving the place completes its index.
        pass
    (settings / "config.toml").write_text(_CONFIG, encoding="utf-8")
    command = (sys.executable, "-P", "-m", "cairn", "mcp", str(place.tree))
    environment = {"CAIRN_DATA_DIR": str(place.data), "CAIRN_CONFIG_DIR": str(settings)}
    with connected(command, cwd=place.tree, environment=environment) as server:
        began = monotonic()
        while "ready" not in server.call("status").lower():
            if monotonic() - began > _READY_SECONDS:
                raise TimeoutError(f"{place.tree}: {server.call('status')}")
            sleep(0.2)
        yield server


@contextmanager
def _semble(python: Path, tree: Path, content: tuple[str, ...], cache: Path) -> Iterator[Server]:
    script = str(Path(__file__).with_name("semble_server.py"))
    # With its own cache, semble finds no index of another model and leaves nothing behind.
    environment = {"XDG_CACHE_HOME": str(cache), "PYTHONPATH": ""}
    with connected((str(python), script, *content), cwd=tree, environment=environment) as server:
        server.call("search", query="a first question", repo=str(tree))
        yield server


def _compact(definitions: object) -> str:
    return json.dumps(definitions, ensure_ascii=False, separators=(",", ":"))
