"""The dependents in the answer to `cairn/change`, by language."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

import pytest
from tests.conftest import ask
from tests.engine.engines import indexed
from tests.harbour import write_files

from cairn.protocol import ChangeAnswer

TIDE = "int tide(int hour)\n{\n    return hour % 12;\n}\n"
C = {
    "tide.h": "int tide(int hour);\n",
    "tide.c": f'#include "tide.h"\n\n{TIDE}\nint spring(void)\n{{\n    return 1;\n}}\n',
    "plan.c": '#include "tide.h"\n\nint plan(void)\n{\n    return tide(3);\n}\n',
}


def test_a_prototype_alone_does_not_keep_calls_from_being_stale(tmp_path: Path) -> None:
    assert stale_after(tmp_path, C, {"tide.c": C["tide.c"].replace(TIDE, "")}) == [("plan.c", 4)]


def test_a_prototype_serves_calls_if_the_function_is_in_another_file_now(tmp_path: Path) -> None:
    after = {"tide.c": C["tide.c"].replace(TIDE, ""), "moon.c": f'#include "tide.h"\n\n{TIDE}'}
    assert stale_after(tmp_path, C, after) == []


def test_static_methods_of_a_class_set_on_an_object_and_exported_are_known(tmp_path: Path) -> None:
    before = {
        "auth.js": "exports = module.exports = internals.Auth = class {\n    static test(name) {}\n};\n",
        "route.js": "const Auth = require('./auth');\n\nexports.go = () => Auth.test('a');\n",
    }
    after = {"auth.js": before["auth.js"].replace("static test", "static check")}
    assert stale_after(tmp_path, before, after) == [("route.js", 2)]


@pytest.mark.parametrize("export", ["export default tide;", "exports = module.exports = tide;"])
def test_export_of_what_was_removed_is_stale(tmp_path: Path, export: str) -> None:
    before = {"tide.js": f"function tide(hour) {{\n  return hour;\n}}\n\n{export}\n"}
    assert stale_after(tmp_path, before, {"tide.js": f"\n{export}\n"}) == [("tide.js", 4)]


def test_only_calls_depend_on_the_signature_of_a_constructor(tmp_path: Path) -> None:
    before = {
        "tide.py": "class Tide:\n    def __init__(self):\n        pass\n\n\nclass Spring(Tide):\n    pass\n",
        "plan.py": "from tide import Tide\n\n\ndef plan(tide: Tide) -> Tide:\n    return Tide()\n",
    }
    after = {"tide.py": before["tide.py"].replace("(self)", "(self, hour)")}
    answer = changed(tmp_path, before, after)
    assert [(each.path, each.range.start.line) for each in answer.dependents] == [("plan.py", 4)]


def stale_after(folder: Path, before: dict[str, str], after: dict[str, str]) -> list[tuple[str, int]]:
    """Return the lines that still use an old definition."""
    answer = changed(folder, before, after)
    return [(each.path, each.range.start.line) for each in answer.dependents if each.is_stale]


def changed(folder: Path, before: dict[str, str], after: dict[str, str]) -> ChangeAnswer:
    """Return the answer about a change that is given as a diff."""
    write_files(folder, before)
    parts = []
    for path, text in after.items():
        old = before.get(path, "")
        names = f"a/{path}" if old else "/dev/null", f"b/{path}"
        parts += unified_diff(old.splitlines(keepends=True), text.splitlines(keepends=True), *names)
    with indexed(folder) as engine:
        answer = ask(engine, "change", {"diff": "".join(parts)})
    assert isinstance(answer, ChangeAnswer)
    return answer
