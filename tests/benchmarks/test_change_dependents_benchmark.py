"""The benchmark of dependents edits heads as programmers do, and compares places by line."""

from __future__ import annotations

import re

import pytest
from change.edits import found_in, renamed_at, with_parameter, without
from change.scoring import Counts, places
from references.model import Sampled, Site


@pytest.mark.parametrize(
    ("path", "kind", "before", "after"),
    [
        ("a.py", "function", "def f(a, **rest):", "def f(a, extra=None, **rest):"),
        ("a.py", "function", "def f(\n    a,\n):", "def f(\n    a, extra=None\n):"),
        ("a.py", "class", "class f(Base):", "class f(Base, metaclass=type):"),
        ("a.go", "method", "func (b *Berth) f(a int) {}", "func (b *Berth) f(extra int, a int) {}"),
        ("a.go", "method", "\tf(string)", "\tf(int, string)"),
        ("a.ts", "method", "  f(this: Berth, a = g(1)) {}", "  f(this: Berth, extra: number, a = g(1)) {}"),
        (
            "a.ts",
            "function",
            "const f = async <T>(a: T) => a;",
            "const f = async <T>(extra: number, a: T) => a;",
        ),
        ("a.ts", "interface", "interface f<T> {", "interface f<T, Extra = unknown> {"),
        ("a.c", "function", "int f(void)", "int f(int extra)"),
        ("a.rs", "function", "fn f(&self, a: u8) {}", "fn f(&self, extra: u32, a: u8) {}"),
        ("a.php", "method", "public function f($a) {}", "public function f($extra, $a) {}"),
    ],
)
def test_parameter_is_added_as_in_the_language(path: str, kind: str, before: str, after: str) -> None:
    at = len(re.split(r"\bf\b", before)[0])
    assert with_parameter(path, before, Sampled(path, 0, at, "f", kind)) == after


def test_head_of_another_form_is_left_out() -> None:
    assert with_parameter("a.js", "const f = wrap(g);", Sampled("a.js", 0, 6, "f", "function")) is None


def test_definition_is_removed_with_its_decorators() -> None:
    text = "import a\n\n@a.cached\ndef f():\n    return 1\n\nx = 1\n"
    found = found_in("a.py", text, Sampled("a.py", 3, 4, "f", "function"))
    assert found is not None
    assert without(text, found) == "import a\n\n\nx = 1\n"


def test_definition_is_renamed_without_its_uses() -> None:
    text = "def f():\n    return f\n"
    assert renamed_at(text, Sampled("a.py", 0, 4, "f", "function"), "g") == "def g():\n    return f\n"


def test_places_are_compared_by_line_and_confidence() -> None:
    def dependent(line: int, confidence: float, kind: str = "call") -> dict[str, object]:
        place = {"path": "a.py", "range": {"start": {"line": line}}, "kind": kind}
        return {**place, "confidence": confidence, "isStale": line == 1, "about": [0]}

    answer = {
        "dependents": [dependent(1, 0.9), dependent(2, 0.3), dependent(3, 0.9, "override")],
        "complete": True,
        "took": 0.1,
    }
    assert places(answer, {1}) == {}
    assert places(answer, {0}, stale=True) == {Site("a.py", 1): 0.9}
    counts = Counts()
    missed, wrong = counts.add({Site("a.py", 1), Site("a.py", 2)}, places(answer, {0}), answer)
    assert (missed, wrong) == ({Site("a.py", 2)}, set())
    figures = counts.figures()
    assert (figures["recall"], figures["precision"], figures["any_found"]) == (0.5, 1.0, 1.0)
    assert figures["at_least"]["0.0"]["recall"] == 1.0
