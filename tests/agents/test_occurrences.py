"""The text of an exact search for agents: all counts at once, and the lines in parts that fit a budget."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cairn.agents.tools import tool_named
from cairn.embedding.shared import estimate_tokens
from cairn.engine.engine import Engine
from cairn.errors import InvalidRequestError
from tests.data_folder import create_data_dir
from tests.harbour import HARBOUR, write_files
from tests.serving import wait_for

Ask = Callable[..., str]

CALLS = {
    f"src/quay_{number:02}.py": f"def load_{number}(ship):\n" + "    moor_here(ship)\n" * 8
    for number in range(20)
}
FILES = {
    **HARBOUR,
    **CALLS,
    "src/mooring.py": "def moor_here(ship):\n    return ship\n\n\nmoor_here(1)\n",
    "src/depth.rs": "fn sound_depth() {}\nfn arrive() {\n"
    + "    // sound_depth\n" * 10
    + "    sound_depth();\n}\n"
    "mod tests {\n" + "    fn test_depth() { sound_depth(); }\n" * 30 + "}\n",
    "tests/depth.rs": "fn test_depth() { sound_depth(); }\n" * 40,
    "picture.png": "not text",
}
MORE = re.compile(r"^more: cursor=(\S+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    root = tmp_path_factory.mktemp("exact")
    folder = write_files(root / "harbour", FILES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_DATA_DIR", str(create_data_dir(root / "data")))
        engine = Engine({"embedding": {"enabled": False}})
        engine.add_folder(folder)
        wait_for(lambda: engine.progress().complete)

        def answer(query: str, **arguments: Any) -> str:
            arguments = {"exact": True, **arguments}
            tool = tool_named("search")
            (text,) = tool.answer(engine.request(), {"query": query, **arguments}, front="mcp").texts
            return text

        yield answer
        engine.stop()


def test_the_counts_and_the_completeness_come_first(ask: Ask) -> None:
    first, *others = ask("raise ValueError").splitlines()
    searched = f"of {len(FILES) - 1} files; not searched: 1 × binary file type"
    assert first == f"1 line in 1 file holds it, complete ({searched})."
    assert others == [
        "src/harbour/berths.py",
        " Berth.moor_ship",
        '  14: raise ValueError("berth is taken")',
    ]


def test_each_file_and_definition_is_named_once(ask: Ask) -> None:
    text = ask("moor_here", path=["src/mooring.py"])
    assert text.splitlines()[1:] == [
        "src/mooring.py",
        " moor_here",
        "  1: def moor_here(ship):",
        " (top level)",
        "  5: moor_here(1)",
    ]


def test_lines_of_the_program_come_before_comments_and_tests(ask: Ask) -> None:
    first, *parts = every_part(ask, "sound_depth")
    lines = re.findall(r"^  \d+: (.*)$", first, re.MULTILINE)
    assert lines == ["fn sound_depth() {}", "sound_depth();"]
    assert (
        "80 further lines in comments, tests, examples and documents: src/depth.rs 40, tests/depth.rs 40"
        in first
    )
    assert sum(len(re.findall(r"^  \d+: ", part, re.MULTILINE)) for part in parts) == 80


def test_a_few_comments_and_tests_are_listed_at_once(ask: Ask) -> None:
    text = ask("sound_depth", path=["src"], limit=12)
    assert len(re.findall(r"^  \d+: ", text, re.MULTILINE)) == 12


def test_lines_in_another_case_are_counted(ask: Ask) -> None:
    assert "1 more in another case; ignore case to list them." in ask("berths of the port")


def test_a_missing_text_is_denied(ask: Ask) -> None:
    assert ask("no such text").startswith("No line holds it, complete (of ")


def test_an_expression_is_searched(ask: Ask) -> None:
    text = ask(r"load_1\d\(", exact=False, regex=True)
    assert text.startswith("10 lines in 10 files hold it, complete")


def every_part(ask: Ask, query: str, **arguments: Any) -> list[str]:
    texts = [ask(query, **arguments)]
    while more := MORE.search(texts[-1]):
        texts.append(ask(query, **arguments, cursor=more[1]))
    return texts


def test_parts_of_the_answer_list_each_line_once(ask: Ask) -> None:
    texts, numbers = every_part(ask, "moor_here", max_tokens=400), list[str]()
    for text in texts:
        assert estimate_tokens(text) < 2 * 400
        path = ""
        for line in text.splitlines():
            path = line if re.fullmatch(r"src/\w+\.py", line) else path
            if shown := re.match(r" +(\d+): ", line):
                numbers.append(f"{path}:{shown[1]}")
    assert len(texts) > 2
    assert len(numbers) == len(set(numbers)) == 162


def test_files_of_lines_left_out_are_named_with_counts(ask: Ask) -> None:
    text = ask("moor_here", limit=5)
    assert "157 further lines: src/quay_00.py 5, src/quay_01.py 8, " in text
    brief = ask("moor_here", max_tokens=200)
    ((named, others),) = re.findall(r"further lines: (.*) and ([\d,]+) lines in \d+ other files", brief)
    listed = len(re.findall(r"^  \d+: ", brief, re.MULTILINE))
    assert listed + int(others) + sum(int(each.split()[-1]) for each in named.split(", ")) == 162


def test_a_cursor_of_another_search_is_refused(ask: Ask) -> None:
    cursor = MORE.search(ask("moor_here", limit=5))[1]  # type: ignore[index]
    with pytest.raises(InvalidRequestError, match="another question"):
        ask("moor_here", regex=True, cursor=cursor)


def test_only_an_exact_search_has_a_high_limit(ask: Ask) -> None:
    assert ask("moor_here", limit=5_000).startswith("162 lines in 21 files")
    with pytest.raises(InvalidRequestError, match="200"):
        ask("moor_here", exact=False, limit=5_000)
