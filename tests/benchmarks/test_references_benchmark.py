"""Tests of the references benchmark: sets, scores, and the requests to a real daemon and to ripgrep."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from engine.daemon import Daemon, all_files_indexed
from references.measurement import ask_cairn, ask_ripgrep
from references.model import CallerSet, Sampled, Site, read_sets, write_set
from references.scoring import Found, score

SETS = Path(__file__).parents[2] / "benchmarks" / "references" / "sets"
PORT = {
    "port/berths.py": "def moor(vessel):\n    return vessel\n",
    "port/plan.py": "from port.berths import moor\n\n\ndef assign(vessel):\n    return moor(vessel)\n",
    "port/notes.py": (
        '"""To moor is to tie up."""\n\n\nclass Rope:\n    def moor(self):\n        return self\n'
    ),
}


def caller_set() -> CallerSet:
    function = Sampled("port/berths.py", 0, 4, "moor", "function", (Site("port/plan.py", 4),))
    return CallerSet("port", "", "", "python", "pyright", 0.1, tuple(PORT), (function,))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path, text in PORT.items():
        (tmp_path / "port" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "port" / path).write_text(text, encoding="utf-8")
    return tmp_path / "port"


def test_a_set_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_set(caller_set(), tmp_path)
    assert read_sets([tmp_path]) == [caller_set()]


def test_sets_that_come_with_the_benchmark_name_public_repositories() -> None:
    sets = read_sets(sorted(SETS.iterdir()))
    assert len({each.language for each in sets}) >= 4
    assert all(each.address.startswith("https://github.com/") and len(each.revision) == 40 for each in sets)
    assert all(site.path in each.covered or each.language in ("c", "cpp")
               for each in sets for function in each.functions for site in function.callers)  # fmt: skip


def test_unsure_claims_and_claims_in_unread_files_do_not_count() -> None:
    known = caller_set()
    sites = {
        Site("port/plan.py", 4): 0.4,
        Site("port/plan.py", 0): 0.9,
        Site("elsewhere.py", 1): 0.9,
    }
    total, details = score(known, [Found(sites, 1.0)])
    assert (total.right, total.wrong, total.missed, total.right_at_any) == (0, 1, 1, 1)
    assert (total.recall, total.precision, total.recall_at_any) == (0.0, 0.0, 1.0)
    assert details[0][1:] == ([Site("port/plan.py", 4)], [Site("port/plan.py", 0)])


def test_the_daemon_finds_the_call_and_ripgrep_every_line_with_the_word(folder: Path, tmp_path: Path) -> None:
    with Daemon(folder.parent, tmp_path / "data") as daemon:
        daemon.wait_until(all_files_indexed, 60.0, every=0.1)
        (found,) = ask_cairn(_below(caller_set()), daemon)
    assert found.sites.keys() == {Site("port/port/plan.py", 4)}
    assert found.sites[Site("port/port/plan.py", 4)] >= 0.5
    if shutil.which("rg"):
        (words,) = ask_ripgrep(caller_set(), folder)
        assert words.sites.keys() == {
            Site(f"port/{name}.py", line) for name in ("plan", "notes") for line in (0, 4)
        }


def _below(known: CallerSet) -> CallerSet:
    (function,) = known.functions
    return CallerSet(
        "port", "", "", "python", "", 0.0, (), (Sampled(f"port/{function.path}", 0, 4, "moor", "function"),)
    )
