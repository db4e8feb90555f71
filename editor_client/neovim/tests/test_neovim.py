"""A real Neovim with the plugin, the real daemon and the real model, on a small project."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.git_repository import GitRepository
from tests.harbour import HARBOUR

from cairn.paths import data_dir

PLUGIN = Path(__file__).resolve().parent.parent
CAIRN = (sys.executable, "-m", "cairn")
PATIENCE_SECONDS = 120
"""The deadline for a state, generous for a busy machine."""
LOOK_SECONDS = (0.01, 0.2)
"""The first and the longest pause between two looks; each look starts a process."""

NO_MODEL = {"embedding": {"enabled": False}}
"""Names are found without vectors, and the daemon has less to do."""
UNWATCHED = {**NO_MODEL, "index": {"watch": False}}
"""The server then indexes a saved file only after Neovim's notification."""

pytestmark = pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim (nvim) is not installed")

INIT = """\
vim.opt.runtimepath:prepend(PLUGIN)
-- A clipboard that needs no desktop.
local copied = { {}, "v" }
local function copy(lines, kind) copied = { lines, kind } end
local function paste() return copied end
vim.g.clipboard = {
  name = "test",
  copy = { ["+"] = copy, ["*"] = copy },
  paste = { ["+"] = paste, ["*"] = paste },
}
require("cairn").setup({ cmd = CMD, settings = vim.fn.json_decode(SETTINGS) })
"""

PROJECT = HARBOUR | {
    "docs/tides.md": (
        "# Tides\n\nHigh water is computed from harmonic constituents.\n\n"
        "## Tide tables\n\nThe tide tables are printed once a year for the pilots.\n"
    ),
    "src/harbour/schedule.py": '''"""Which ship goes where, and when."""

from harbour.berths import Berth
from harbour.log import logged


# A ship that is long has few berths to go to.
@logged
def assign_berths(ships, berths: list[Berth]):
    """Assign each arriving ship to the shortest free berth that is long enough for it."""
    for ship in sorted(ships, key=lambda ship: -ship.length):
        for berth in sorted(berths, key=lambda berth: berth.length):
            if berth.ship is None and berth.length >= ship.length:
                berth.moor_ship(ship)
                break
''',
}


class Neovim:
    """One headless Neovim, driven over its socket."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, socket: Path) -> None:
        self.process = process
        self.folder = folder
        self.socket = socket

    def evaluate(self, expression: str) -> Any:
        """Return the value of a Vim expression as JSON data."""
        # Through a file, because Neovim 0.7 prints long values as invalid JSON.
        written = self.socket.with_suffix(".json")
        self._evaluate(f"writefile([json_encode({expression})], {quoted(str(written))})").check_returncode()
        return json.loads(written.read_text(encoding="utf-8"))

    def _evaluate(self, expression: str) -> subprocess.CompletedProcess[bytes]:
        command = ["nvim", "--server", str(self.socket), "--remote-expr", expression]
        return subprocess.run(command, stdout=subprocess.DEVNULL, timeout=PATIENCE_SECONDS)

    def lua(self, expression: str) -> Any:
        return self.evaluate(f"luaeval({quoted(expression)})")

    def run(self, command: str) -> str:
        """What an Ex command prints."""
        printed = self.evaluate(f"execute({quoted(command)})")
        assert isinstance(printed, str)
        return printed

    def run_later(self, command: str) -> None:
        """Run an Ex command as if it was typed, so that its errors do not reach this connection."""
        self.evaluate(f"timer_start(0, {{-> execute({quoted(command)}, '')}})")

    def keys(self, keys: str) -> None:
        self.run(f'execute "normal {keys}"')

    def wait_for(self, expression: str, holds: Callable[[Any], bool]) -> Any:
        """Evaluate until the value satisfies `holds`, and return it."""
        return wait_for(lambda: self.evaluate(expression), holds)

    def said(self, text: str) -> str:
        """Wait for a message with `text`, and return all messages."""
        said = self.wait_for("execute('messages')", lambda messages: text in messages)
        assert isinstance(said, str)
        return said

    def search(self, question: str, command: str = "Cairn") -> list[dict[str, Any]]:
        """The quickfix list that the command makes, with the path of each entry; [] if it finds nothing."""
        state = "[getqflist({'id': 0}).id, count(execute('messages'), 'Cairn: nothing found.')]"
        before = self.evaluate(state)
        self.run(f"{command} {question}")
        made, _ = self.wait_for(state, lambda now: now != before)
        if made == before[0]:
            return []
        entries = self.evaluate(
            "map(getqflist(), {_, e -> extend(e, {'path': fnamemodify(bufname(e.bufnr), ':p')})})"
        )
        return [{**entry, "path": os.path.relpath(entry["path"], self.folder)} for entry in entries]

    def found(self, question: str, path: str) -> list[dict[str, Any]]:
        """Search until the first result is in `path`. The index of a server that just started is empty."""

        def found(entries: list[dict[str, Any]]) -> bool:
            return bool(entries) and entries[0]["path"].endswith(path)

        return wait_for(lambda: self.search(question), found)

    def ready(self, wanted: str = "ready") -> None:
        """Wait until everything is indexed, and has its vectors unless `degraded` is wanted."""

        def state() -> str:
            self.run("messages clear")
            self.run("CairnStatus")
            return self.said("passages")

        wait_for(state, lambda said: f"Cairn: {wanted}" in said)

    def back(self) -> Neovim:
        """Itself, with nothing but the README shown, as it is on disk, and no messages."""
        self.run(f"messages clear | silent! only! | cd {self.folder} | edit! README.md")
        return self

    def show(self, path: str) -> None:
        """Show the file in a window for files."""
        self.run("topleft new")
        self.run(f"edit {path}")

    def place(self) -> tuple[str, int]:
        """The file in the current window and the cursor's line."""
        name, line = self.evaluate("[expand('%:p'), line('.')]")
        return name, line

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def quit(self) -> None:
        """Quit; no process may remain."""
        children = self.children()
        self._evaluate("execute('qall!')")  # It fails, because Neovim ends before it answers.
        self.process.wait(PATIENCE_SECONDS)
        _, alive = psutil.wait_procs(children, PATIENCE_SECONDS)
        assert not alive


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def wait_for(ask: Callable[[], Any], holds: Callable[[Any], bool]) -> Any:
    """Call `ask` until the answer satisfies `holds`, and return it. Fail after PATIENCE_SECONDS."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    pause, longest = LOOK_SECONDS
    while not holds(answer := ask()):
        assert time.monotonic() < deadline, f"it did not come true; the last answer was {answer!r}"
        time.sleep(pause)
        pause = min(1.5 * pause, longest)
    return answer


def line_of(path: Path, text: str) -> int:
    """Return the 1-based line that contains the text."""
    lines = path.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def make_project(folder: Path) -> Path:
    root = folder / "harbour"
    for path, text in PROJECT.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    return root


def own_environment(folder: Path) -> dict[str, str]:
    """Return an environment with folders of its own for Neovim and Cairn."""
    real, own = data_dir() / "grammars", folder / "data"
    own.mkdir(exist_ok=True)
    real.mkdir(parents=True, exist_ok=True)
    if not (own / "grammars").exists():
        (own / "grammars").symlink_to(real, target_is_directory=True)
    names = ("CAIRN_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
    # A busy machine must not make the kill switch change what is answered, nor break off a part of a search.
    steady = {
        "CAIRN_RETRIEVAL__KILL_SWITCH__AUTOMATIC": "false",
        "CAIRN_SEARCH__LEG_DEADLINE_MS": str(1000 * PATIENCE_SECONDS),
    }
    return {
        **os.environ,
        **steady,
        "CAIRN_DATA_DIR": str(own),
        **{name: str(folder / name.lower()) for name in names},
    }


@contextmanager
def neovim_in(
    temporary: Path,
    folder: Path,
    *files: str,
    cmd: tuple[str, ...] = (*CAIRN, "lsp"),
    settings: Any = None,
    home: Path | None = None,
) -> Iterator[Neovim]:
    """Start Neovim in a folder; in the end it quits and leaves no process behind."""
    environment = own_environment(temporary)
    if home is not None:
        environment["HOME"] = str(home)
    init = temporary / "init.lua"
    parts = ", ".join(f"[=[{part}]=]" for part in cmd)
    init.write_text(
        f"local PLUGIN, CMD = [=[{PLUGIN}]=], {{ {parts} }}\n"
        f"local SETTINGS = [=[{json.dumps(settings or {})}]=]\n{INIT}"
    )
    # The path of a socket may have some 100 characters, and those of pytest's folders are longer.
    with tempfile.TemporaryDirectory(prefix="nvim") as short, (temporary / "nvim.log").open("wb") as log:
        socket = Path(short) / "socket"
        command = ["nvim", "--headless", "-u", str(init), "-i", "NONE", "-n", "--listen", str(socket), *files]
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        running = Neovim(process, folder, socket)
        try:
            wait_for(socket.exists, bool)
            running.wait_for("v:vim_did_enter", bool)
            yield running
        finally:
            if process.poll() is None:
                running.quit()


Start = Callable[..., Neovim]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as running:
        yield lambda *arguments, **options: running.enter_context(neovim_in(tmp_path, *arguments, **options))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    """One Neovim in the project, with all indexed, for the tests that change nothing."""
    temporary = tmp_path_factory.mktemp("shared")
    with neovim_in(temporary, make_project(temporary), "README.md") as running:
        running.ready()
        yield running


@pytest.fixture(scope="module")
def writable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    """One Neovim in another project, where only Neovim reports changes, for the tests that make some."""
    temporary = tmp_path_factory.mktemp("writable")
    with neovim_in(temporary, make_project(temporary), "README.md", settings=UNWATCHED) as running:
        running.ready("degraded")
        yield running


@pytest.fixture
def neovim(indexed: Neovim) -> Neovim:
    """The Neovim for the tests that change nothing."""
    return indexed.back()


@pytest.fixture
def writer(writable: Neovim) -> Neovim:
    """The Neovim for the tests that change something; what they wrote before is there."""
    return writable.back()


def test_search_fills_the_quickfix_list(neovim: Neovim) -> None:
    first = neovim.search("how does a ship get moored at a berth type:code")[0]
    assert first["path"] == "src/harbour/berths.py"
    source = neovim.folder / first["path"]
    assert first["lnum"] == line_of(source, "def moor_ship")
    assert first["end_lnum"] > first["lnum"]
    assert first["module"] == "src/harbour/berths.py"
    title, matched = first["text"].split(" — ", 1)
    assert title.startswith("Berth")
    number, _, line = matched.partition(": ")
    assert line in source.read_text().splitlines()[int(number) - 1]
    assert neovim.evaluate("getqflist({'title': 0}).title") == (
        "Cairn: how does a ship get moored at a berth type:code"
    )
    assert neovim.evaluate("&buftype") == "quickfix"
    neovim.keys(r"\<CR>")
    assert neovim.place() == (str(source), first["lnum"])


def test_navigation_follows_names_if_configured(start: Start, project: Path) -> None:
    settings = {**NO_MODEL, "lsp": {"navigation": ["*"]}}
    neovim = start(project, "README.md", settings=settings)
    neovim.ready("degraded")
    schedule, berths = project / "src/harbour/schedule.py", project / "src/harbour/berths.py"
    neovim.show(str(schedule))
    call = line_of(schedule, "berth.moor_ship(ship)")
    neovim.run(f"call cursor({call}, 24)")
    neovim.wait_for("luaeval('#vim.lsp.buf_get_clients(0)')", bool)
    neovim.run("lua vim.lsp.buf.definition()")
    defined = str(berths), line_of(berths, "def moor_ship")
    wait_for(neovim.place, lambda place: place == defined)
    neovim.run("lua vim.lsp.buf.references()")
    entries = neovim.wait_for("getqflist()", lambda entries: len(entries) > 1)
    assert call in [entry["lnum"] for entry in entries]
    neovim.show(str(berths))
    neovim.run(f"call cursor({defined[1]}, 10)")
    neovim.run("call setqflist([]) | lua vim.lsp.buf.incoming_calls()")
    callers = neovim.wait_for("map(getqflist(), {_, e -> e.text})", bool)
    assert "assign_berths" in callers


def test_navigation_is_off_by_default(neovim: Neovim) -> None:
    client = "vim.tbl_values(vim.lsp.get_active_clients())[1]"
    neovim.wait_for(f"luaeval('{client} ~= nil')", bool)
    capabilities = neovim.lua(f"{client}.server_capabilities")
    offered = {"definitionProvider", "referencesProvider", "implementationProvider", "callHierarchyProvider"}
    assert "workspaceSymbolProvider" in capabilities
    assert not [name for name in offered if capabilities.get(name)]


def test_filters_work_anywhere_in_the_query(neovim: Neovim) -> None:

    def paths(question: str) -> set[str]:
        return {entry["path"] for entry in neovim.search(question)}

    assert paths("type:prose berth") == {"README.md", "docs/tides.md"}
    assert paths("where path:docs/ are tides") == {"docs/tides.md"}
    assert paths("berth lang:python path:schedule.py,tides.py") == {
        "src/harbour/schedule.py",
        "src/harbour/tides.py",
    }
    assert paths("high water in:harbour-docs") == {"README.md", "docs/tides.md"}
    neovim.run("Cairn berth type:poem")
    assert "poem" in neovim.said("filter.type")
    neovim.run_later("Cairn type:code")
    neovim.said("give a question besides the filters")


@pytest.mark.parametrize(
    ("typed", "question", "filter_"),
    [
        ("how does routing work", "how does routing work", None),
        ("type:code how  lang:go does", "how does", {"type": ["code"], "language": ["go"]}),
        ("x language:c,rust in:api,docs", "x", {"language": ["c", "rust"], "collection": ["api", "docs"]}),
        ("x collection:a in:b path:src/**/*.py", "x", {"collection": ["a", "b"], "path": ["src/**/*.py"]}),
        ('find "type:code  in" here', 'find "type:code  in" here', None),
        ('type:code "a b" path:c', '"a b"', {"type": ["code"], "path": ["c"]}),
        ('an open "quote type:code', 'an open "quote', {"type": ["code"]}),
        ("path::join in: note:this xtype:code", "path::join in: note:this xtype:code", None),
    ],
)
def test_query_is_split_into_text_and_filter(neovim: Neovim, typed: str, question: str, filter_: Any) -> None:
    assert neovim.lua(f"{{ require('cairn.question').parse([==[{typed}]==]) }}") == (
        [question, filter_] if filter_ else [question]
    )


def test_bang_opens_the_first_result(neovim: Neovim) -> None:
    neovim.search("assign_berths", "Cairn!")
    schedule = neovim.folder / "src/harbour/schedule.py"
    assert neovim.place() == (str(schedule), line_of(schedule, "def assign_berths"))
    assert neovim.evaluate("winnr('$')") == 1


def test_message_says_that_nothing_matches(neovim: Neovim) -> None:
    neovim.run("Cairn quarterly unicorn sausages")
    neovim.said("nothing matches well. Which part should I explain?")
    neovim.run("Cairn berth path:nowhere/")
    neovim.said("there is no 'nowhere/' in the workspace")


ASSIGNED = "which code assigns ships to a berth"
"""A question whose answer is code, so that excerpts lead."""


def test_discovery_shows_excerpts_that_open_at_their_lines(neovim: Neovim) -> None:
    neovim.run(f"CairnDiscover {ASSIGNED}")
    lines = neovim.wait_for("getline(1, '$')", lambda lines: lines[0] == f"# {ASSIGNED}")
    assert neovim.evaluate("[&buftype, &filetype, &modifiable]") == ["nofile", "markdown", 0]
    row = lines.index("### src/harbour/schedule.py") + 1
    assert re.match(r"L\d+(-L\d+)? — [\w.]+ — ", lines[row + 1])  # what it belongs to, and why it is shown
    assert lines[row + 2] == "```python"
    source = neovim.folder / "src/harbour/schedule.py"
    quoted = lines.index("def assign_berths(ships, berths: list[Berth]):") + 1
    assert neovim.evaluate(f"synIDattr(synID({quoted}, 1, 1), 'name')") == "pythonStatement"
    cited = int(lines[row + 1][1:].split("-")[0].split()[0])
    defined = line_of(source, "def assign_berths")
    for keys, at, line in (("gf", row, cited), ("gf", row + 2, cited), (r"\<CR>", quoted, defined)):
        neovim.run(f"call cursor({at}, 1)")
        neovim.keys(keys)
        assert neovim.place() == (str(source), line)
        assert neovim.evaluate("winnr('$')") == 2
        neovim.run("wincmd p")


def test_further_places_open_at_their_lines(neovim: Neovim) -> None:
    neovim.run(f"CairnDiscover {ASSIGNED}")
    lines = neovim.wait_for("getline(1, '$')", lambda lines: lines[0] == f"# {ASSIGNED}")
    more = lines.index("## More on request")
    assert not [line for line in lines[more:] if line.startswith("```")]
    row = next(row for row, line in enumerate(lines, 1) if row > more and line.startswith("- L"))
    path = next(line for line in reversed(lines[:row]) if line.startswith("### ")).removeprefix("### ")
    neovim.run(f"call cursor({row}, 1)")
    neovim.keys("gf")
    line = int(re.match(r"- L(\d+)", lines[row - 1])[1])
    assert neovim.place() == (str(neovim.folder / path), line)
    neovim.run("wincmd p")


def test_overview_begins_with_bullets_whose_citations_open(neovim: Neovim) -> None:
    neovim.run("CairnDiscover what is Harbour")
    lines = neovim.wait_for("getline(1, '$')", lambda lines: lines[0] == "# what is Harbour")
    row = next(row for row, line in enumerate(lines, 1) if line.startswith("  README.md#L"))
    assert lines[row - 2].startswith("- ")
    assert row < lines.index("## Excerpts")
    place = (str(neovim.folder / "README.md"), int(lines[row - 1].rpartition("#L")[2].split("-")[0]))
    for keys, at in (("gf", row), (r"\<CR>", row - 1)):
        neovim.run(f"call cursor({at}, 1)")
        neovim.keys(keys)
        assert neovim.place() == place
        neovim.run("wincmd p")


def test_keys_copy_and_show_the_prompt(neovim: Neovim) -> None:
    neovim.run(f"CairnDiscover {ASSIGNED}")
    lines = neovim.wait_for("getline(1, '$')", lambda lines: lines[0] == f"# {ASSIGNED}")
    neovim.run("call setreg('+', '')")
    for copy in ("normal c", "CairnPrompt"):
        neovim.run("messages clear")
        neovim.run_later(copy)
        neovim.said("the prompt is in the clipboard")
    unnamed, clipboard = neovim.evaluate("[getreg('\"'), getreg('+')]")
    assert unnamed == clipboard
    assert f"## Question\n{ASSIGNED}" in unnamed
    assert "### src/harbour/schedule.py\n" in unnamed
    neovim.run("call cursor(5, 1)")
    neovim.keys("p")
    prompt = neovim.evaluate("getline(1, '$')")
    assert "\n".join(prompt) == unnamed
    source = neovim.folder / "src/harbour/schedule.py"
    path = prompt.index("### src/harbour/schedule.py") + 1
    quoted = next(row for row, line in enumerate(prompt, 1) if "def assign_berths(" in line)
    first = next(int(number[1]) for line in prompt[path:] if (number := re.match(r" *(\d+)", line)))
    for row, line in ((path, first), (quoted, line_of(source, "def assign_berths"))):
        neovim.run(f"call cursor({row}, 1)")
        neovim.keys("gf")
        assert neovim.place() == (str(source), line)
        neovim.run("wincmd p")
    neovim.keys("p")
    assert neovim.evaluate("getline(1, '$')") == lines
    assert neovim.evaluate("line('.')") == 5


def test_typed_and_saved_text_is_found(writer: Neovim) -> None:
    tides = writer.folder / "src/harbour/tides.py"
    writer.run("edit src/harbour/tides.py")
    writer.run("call append('$', ['', 'def neap_tide_warning(pilot):', '    return pilot'])")
    first = writer.found("neap_tide_warning", "tides.py")[0]
    assert first["lnum"] <= len(tides.read_text().splitlines()) + 2 <= first["end_lnum"]
    writer.show("src/harbour/tides.py")
    writer.run("%substitute/neap_tide_warning/spring_tide_alarm/")
    writer.run("write")
    writer.run("bdelete")
    first = writer.found("spring_tide_alarm", "tides.py")[0]
    assert first["lnum"] <= line_of(tides, "def spring_tide_alarm") <= first["end_lnum"]


def test_related_lists_passages_for_the_cursor(neovim: Neovim) -> None:
    neovim.run("edit src/harbour/schedule.py")
    neovim.run("call search('moor_ship')")
    entries = neovim.search("", "CairnRelated")
    berths = next(entry for entry in entries if entry["path"] == "src/harbour/berths.py")
    assert berths["lnum"] == line_of(neovim.folder / berths["path"], "def moor_ship")
    assert all(" — " in entry["text"] for entry in entries)
    assert neovim.evaluate("getqflist({'title': 0}).title").startswith("Cairn: related to schedule.py:")
    neovim.run_later("CairnRelated")
    neovim.said("this window shows no file")


def test_changes_list_stale_places_as_errors(start: Start, project: Path) -> None:
    repository = GitRepository(project, {})
    repository.git("tag", "moored")
    neovim = start(project, "src/harbour/berths.py", settings=UNWATCHED)
    neovim.ready("degraded")
    neovim.run("CairnChanges")
    neovim.said("nothing changed")
    neovim.run("%s/moor_ship(self, ship)/moor_ship(self, ship, at)/")  # Unsaved text counts.
    entries = neovim.search("", "CairnChanges")
    schedule = project / "src/harbour/schedule.py"
    first, last = entries[0], entries[-1]
    assert (first["type"], first["path"]) == ("E", "src/harbour/schedule.py")
    assert first["lnum"] == line_of(schedule, "berth.moor_ship(ship)")
    assert first["text"].endswith("berth.moor_ship(ship)")
    assert (last["type"], last["text"]) == ("N", "Berth.moor_ship: it has the new parameter `at`")
    kinds = [entry["type"] for entry in entries]
    assert kinds == sorted(kinds, key="EWIN".index)
    title = neovim.evaluate("getqflist({'title': 0}).title")
    assert title.startswith(f"Cairn: changes since {repository.git('rev-parse', 'HEAD')[:8]}: ")
    assert "still use an old definition" in title
    neovim.run("CairnPrompt")
    assert "moor_ship(self, ship, at)" in neovim.evaluate("getreg('\"')")
    neovim.search("moored", "CairnChanges!")
    assert neovim.place() == (str(schedule), first["lnum"])
    assert neovim.evaluate("getcompletion('CairnChanges moo', 'cmdline')") == ["moored"]
    neovim.run("CairnChanges nowhere")
    neovim.said("nowhere")


def test_context_of_a_range_has_a_page_and_a_prompt(neovim: Neovim) -> None:
    neovim.run("edit src/harbour/schedule.py")
    neovim.run("6,8CairnContext")
    lines = neovim.wait_for(
        "getline(1, '$')", lambda lines: any("### src/harbour/berths.py#L" in x for x in lines)
    )
    row = next(row for row, line in enumerate(lines, 1) if "### src/harbour/berths.py#L" in line)
    neovim.run(f"call cursor({row}, 1)")
    neovim.keys(r"\<CR>")
    line = int(lines[row - 1].partition("#L")[2].split("-")[0])
    assert neovim.place() == (str(neovim.folder / "src/harbour/berths.py"), line)
    neovim.run("CairnPrompt")
    assert neovim.evaluate("getreg('+')") == "\n".join(lines)


LENSES = """(function()
  local drawn = vim.empty_dict()
  for name, namespace in pairs(vim.api.nvim_get_namespaces()) do
    local marks = vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, {details = true})
    for _, mark in ipairs(name:find("codelens:", 1, true) and marks or {}) do
      local text = ""
      for _, chunk in ipairs(mark[4].virt_text or mark[4].virt_lines[1]) do text = text .. chunk[1] end
      drawn[tostring(mark[2] + 1)] = text
    end
  end
  return drawn
end)()"""
"""What code lenses say, by line."""

CHOOSE = """(function()
  vim.ui.select = function(options, asked, done)
    for _, option in ipairs(options) do
      if asked.format_item(option):find(%r) then return done(option) end
    end
  end
  vim.lsp.codelens.run()
end)()"""
"""Runs that lens of the cursor's line that contains a text."""


def drawn_lenses(neovim: Neovim, path: str, contains: str) -> dict[int, str]:
    """Show a file, and return its lenses by line, once one of them contains the text."""
    neovim.run(f"edit {path}")
    drawn = f"luaeval({quoted(LENSES)})"
    found = neovim.wait_for(drawn, lambda found: any(contains in text for text in found.values()))
    return {int(line): text for line, text in found.items()}


def test_lenses_say_who_calls_and_tests_a_definition(neovim: Neovim) -> None:
    berths = neovim.folder / "src/harbour/berths.py"
    lenses = drawn_lenses(neovim, str(berths), "1 caller | 1 test")
    assert "1 test" in lenses[line_of(berths, "def moor_ship")]
    assert lenses[line_of(berths, "class Berth")]
    assert "nresolved" not in "".join(lenses.values())


def test_lenses_count_anew_when_a_saved_file_calls_more(writer: Neovim) -> None:
    tides = writer.folder / "src/harbour/tides.py"
    drawn_lenses(writer, str(tides), "no known callers")
    (writer.folder / "src/harbour/table.py").write_text("")
    writer.run("topleft new")
    writer.run("edit src/harbour/table.py")
    code = ["from harbour.tides import high_water", "def noon():", "    return high_water(1, [])"]
    writer.run(f"call setline(1, {code})")
    writer.run("write")
    writer.run("wincmd p")
    writer.wait_for(f"luaeval({quoted(LENSES)})", lambda found: "1 caller" in str(found))
    writer.run("only")


def test_hover_says_which_document_explains_a_name(writer: Neovim) -> None:
    writer.run("edit docs/almanac.md")
    writer.run("call setline(1, ['# Almanac', '', '`high_water` reads the hour from the moon.'])")
    writer.run("write")
    writer.run("edit src/harbour/tides.py")
    writer.run(f"call cursor({line_of(writer.folder / 'src/harbour/tides.py', 'def high_water')}, 6)")

    def hover() -> list[str]:
        writer.lua("vim.lsp.buf.hover()")
        windows = "filter(nvim_list_wins(), {_, w -> nvim_win_get_config(w).relative != ''})"
        shown = writer.evaluate(f"map({windows}, {{_, w -> getbufline(winbufnr(w), 1, '$')}})")
        return [line for lines in shown for line in lines]

    shown = "\n".join(wait_for(hover, bool))
    assert "Explained in" in shown
    assert "reads the hour from the moon." in shown


def test_lens_opens_the_page_at_its_section(neovim: Neovim) -> None:
    berths = neovim.folder / "src/harbour/berths.py"
    for said, heading, path, cited in (
        ("caller", "## Called and used by", "src/harbour/schedule.py", "berth.moor_ship(ship)"),
        ("test", "## Tests", "tests/test_berths.py", ""),
    ):
        neovim.back()
        drawn_lenses(neovim, str(berths), "1 caller")
        neovim.run(f"call cursor({line_of(berths, 'def moor_ship')}, 1)")
        neovim.lua(CHOOSE % said)
        assert neovim.wait_for("getline('.')", lambda line: line.startswith("#")) == heading
        assert neovim.evaluate("&buftype") == "nofile"
        row = neovim.evaluate("line('.')")
        lines = neovim.evaluate("getline(1, '$')")
        assert lines[row : row + 2] == ["", f"### {path}"]
        if cited:
            at = next(at for at, line in enumerate(lines, 1) if at > row and cited in line)
            neovim.run(f"call cursor({at}, 1)")
            neovim.keys(r"\<CR>")
            source = neovim.folder / path
            assert neovim.place() == (str(source), line_of(source, cited))
        neovim.run(f"edit {berths}")
        neovim.wait_for(f"luaeval({quoted(LENSES)})", lambda drawn: "1 caller | 1 test" in drawn.values())


def test_lenses_move_with_their_definitions(writer: Neovim) -> None:
    berths = writer.folder / "src/harbour/berths.py"
    before = drawn_lenses(writer, str(berths), "1 caller")
    writer.run("call append(0, ['# A comment', '# of two lines'])")
    writer.run("doautocmd TextChanged")
    moved = {line + 2: text for line, text in before.items()}
    writer.wait_for(
        f"luaeval({quoted(LENSES)})", lambda found: found == {str(k): v for k, v in moved.items()}
    )
    writer.run("edit!")


def test_lens_of_another_server_is_not_repeated(neovim: Neovim) -> None:
    berths = neovim.folder / "src/harbour/berths.py"
    line = line_of(berths, "def moor_ship")
    before = drawn_lenses(neovim, str(berths), "1 caller")
    start = f"{{line = {line - 1}, character = 0}}"
    command = "{title = '3 references', command = 'other.show'}"
    other = f"{{range = {{start = {start}, ['end'] = {start}}}, command = {command}}}"
    neovim.lua(f"vim.lsp.codelens.save({{ {other} }}, vim.api.nvim_get_current_buf(), 999)")
    neovim.run("doautocmd BufEnter")
    after = neovim.wait_for(f"luaeval({quoted(LENSES)})", lambda found: "caller" not in str(found))
    assert "1 test" in after[str(line)]
    assert "1 caller" in before[line]
    neovim.lua("vim.lsp.codelens.save({}, vim.api.nvim_get_current_buf(), 999)")


def test_lenses_can_be_switched_off(start: Start, project: Path) -> None:
    settings = {**NO_MODEL, "lsp": {"lenses": "off"}}
    neovim = start(project, "src/harbour/berths.py", settings=settings)
    neovim.ready("degraded")
    neovim.run("doautocmd BufEnter")
    neovim.run("messages clear")
    neovim.run("CairnStatus")  # It is answered after the lenses.
    neovim.said("passages")
    assert neovim.lua(LENSES) == {}


def test_workspace_symbol_finds_names(neovim: Neovim) -> None:
    neovim.run("call setqflist([], 'f')")
    neovim.lua("vim.lsp.buf.workspace_symbol('moor_ship')")
    (entry,) = neovim.wait_for("getqflist()", bool)
    assert entry["lnum"] == line_of(neovim.folder / "src/harbour/berths.py", "def moor_ship")


def test_commands_pause_resume_and_show_indexing(neovim: Neovim) -> None:
    neovim.ready()
    assert f"{len(PROJECT)} of {len(PROJECT)} files" in neovim.said("model ")
    neovim.run("CairnPause")
    neovim.said("Cairn: paused")
    neovim.run("CairnStatus")
    neovim.said("(paused)")
    neovim.run("CairnResume")
    neovim.said("Cairn: resumed")
    neovim.ready()
    neovim.run("cd src | CairnReindex harbour")
    neovim.said("indexing src/harbour anew")
    neovim.run("CairnReindex")
    neovim.said("indexing everything anew")
    neovim.run_later("CairnReindex /elsewhere")
    neovim.said("/elsewhere is not in")


def test_opened_result_is_reported_once(writer: Neovim) -> None:
    def feedback(*options: str) -> Any:
        command = [*CAIRN, "feedback", str(writer.folder), "--json", *options]
        environment = own_environment(writer.folder.parent)
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout)

    def opened() -> list[str]:
        return [choice["path"] for choice in feedback()]

    feedback("--reset")
    writer.search("ships in berths", "Cairn!")
    entries = writer.search("ships in berths")
    writer.run("wincmd p")
    chosen = next(row for row, entry in enumerate(entries, 1) if entry["path"] == "src/harbour/schedule.py")
    writer.run(f"cc {chosen}")
    assert wait_for(opened, bool) == ["src/harbour/schedule.py"]


def test_each_repository_has_one_server(writer: Neovim, tmp_path: Path) -> None:
    other = tmp_path / "lighthouse"
    (other / "lamps").mkdir(parents=True)
    (other / "lamps/lamp.py").write_text("def light_lamp(keeper):\n    return keeper\n")
    subprocess.run(["git", "init", "--quiet", str(other)], check=True)
    writer.run("edit src/harbour/tides.py")
    writer.found("moor_ship", "berths.py")
    (first,) = writer.children()
    writer.show(str(other / "lamps/lamp.py"))
    writer.found("keeper", "lamp.py")
    (second,) = set(writer.children()) - {first}
    second.kill()
    writer.said(f"the server of {other} ended")
    writer.back().found("moor_ship", "berths.py")
    assert writer.children() == [first]


def test_focus_makes_the_server_look_for_changes(writer: Neovim) -> None:
    (writer.folder / "src/harbour/pilots.py").write_text(
        "def embark_pilot_by_ladder(vessel):\n    return vessel\n"
    )
    assert "pilots.py" not in {Path(entry["path"]).name for entry in writer.search("embark_pilot_by_ladder")}

    def focused() -> list[dict[str, Any]]:
        writer.run("doautocmd FocusGained")  # again: the daemon does not look twice within seconds
        return writer.search("embark_pilot_by_ladder")

    wait_for(focused, lambda entries: any(entry["path"].endswith("pilots.py") for entry in entries))


def test_restart_replaces_a_dead_server(writer: Neovim) -> None:
    (cairn,) = writer.children()
    cairn.kill()
    assert "signal 9" in writer.said(":CairnRestart starts it again")
    writer.run_later("Cairn berth")
    writer.said("the server has ended")
    writer.run("CairnRestart")
    writer.found("moor_ship", "berths.py")
    writer.run("messages clear")
    (cairn,) = writer.children()
    writer.run("CairnRestart")
    writer.found("high_water", "tides.py")
    (again,) = writer.children()
    assert again.pid != cairn.pid
    assert "ended" not in writer.evaluate("execute('messages')")
    # What was open is known to the new server.
    writer.show("README.md")
    writer.run("call append('$', ['', 'Barges are towed by tugboats.'])")
    writer.found("tugboats", "README.md")


def test_missing_server_is_reported_with_the_remedy(start: Start, project: Path, tmp_path: Path) -> None:
    cairn = tmp_path / "bin/cairn"
    neovim = start(project, "README.md", cmd=(str(cairn), "lsp"), settings=NO_MODEL)
    said = neovim.said("the server was not found")
    assert str(cairn) in said
    assert "scripts/discover" in said
    neovim.run("edit docs/tides.md")
    neovim.run("messages clear")
    neovim.run_later("Cairn berth")
    assert neovim.said("the server was not found").count("not found") == 1
    cairn.parent.mkdir()
    cairn.write_text(f'#!/bin/sh\nexec {" ".join(CAIRN)} "$@"\n')
    cairn.chmod(0o755)
    neovim.run("CairnRestart")
    neovim.found("moor_ship", "berths.py")


def test_command_starts_the_server_without_a_repository(start: Start, project: Path) -> None:
    shutil.rmtree(project / ".git")
    neovim = start(project, "README.md", settings=NO_MODEL)
    assert neovim.evaluate("exists(':Cairn')") == 2
    assert neovim.children() == []
    neovim.found("moor_ship", "berths.py")
    neovim.show("README.md")
    neovim.run("call append('$', ['', 'Barges are towed by tugboats.'])")
    neovim.found("tugboats", "README.md")


def test_home_folder_is_not_indexed(start: Start, tmp_path: Path) -> None:
    neovim = start(tmp_path, home=tmp_path)
    neovim.run_later("CairnPrompt")
    neovim.said("there is no prompt")
    neovim.run_later("Cairn berth")
    neovim.said("is not a project")
    assert neovim.children() == []


def test_quitting_at_once_leaves_no_process(start: Start, project: Path) -> None:
    neovim = start(project, "README.md", settings=NO_MODEL)
    wait_for(neovim.children, bool)
    neovim.quit()


def test_help_is_found(neovim: Neovim, tmp_path: Path) -> None:
    shutil.copytree(PLUGIN / "doc", tmp_path / "copy/doc")  # tags are written beside it
    neovim.run(f"helptags {tmp_path}/copy/doc")
    neovim.run(f"set runtimepath^={tmp_path}/copy")
    for tag in ("cairn", ":Cairn", ":CairnDiscover", ":CairnRestart", "cairn-setup", "cairn-lenses"):
        neovim.run(f"help {tag}")
        assert neovim.evaluate("expand('%:p')") == f"{tmp_path}/copy/doc/cairn.txt"
