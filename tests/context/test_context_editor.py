"""The editor's state as items of a context."""

from __future__ import annotations

from cairn.context.builder import Item
from cairn.context.place_items import CursorPassage, Problem, diagnostic_items, editor_items, query_items

SHOWN = CursorPassage(
    "src/berths.py",
    "def moor(ship):\n    return ship\n",
    (4, 6),
    cursor=5,
    language="python",
    title="moor",
    header_path="Berth > moor",
    symbol="moor",
)


def best_first(items: tuple[Item, ...]) -> list[str]:
    return [item.title for item in sorted(items, key=lambda item: -item.score)]


def test_place_comes_first_then_documents_then_the_passage() -> None:
    opened = ["src/berths.py", *(f"open{n}.py" for n in range(7)), "open0.py"]
    items = editor_items(SHOWN, opened)
    assert items[0].text == "- Cursor: `src/berths.py`, line 6, in `Berth > moor`"
    assert best_first(items) == [
        "src/berths.py", *(f"open{n}.py" for n in range(5)), "at the cursor", "open5.py", "open6.py",
    ]  # fmt: skip
    passage = next(item for item in items if item.quoted)
    assert (passage.citation, passage.focus) == ("src/berths.py#L5-L6", 1)


def test_selection_is_named_as_such() -> None:
    selected = CursorPassage("a.md", "Text\n", (2, 3), cursor=2, selected=True, title="Tides")
    place, passage = editor_items(selected, [])
    assert place.text == "- Selection: `a.md`, lines 3 to 3, in `Tides`"
    assert passage.title == "selected"


def test_empty_document_has_a_place_and_no_passage() -> None:
    (place,) = editor_items(CursorPassage("new.py", "", (0, 0), 0), [])
    assert place.text == "- Cursor: `new.py`, line 1"


def test_severe_diagnostics_come_first_then_near_ones() -> None:
    problems = [
        Problem(50, 51, 1, "far error"),
        Problem(4, 5, 4, "hint at the cursor"),
        Problem(9, 12, 1, "near error", source="ruff", code="F821"),
        Problem(9, 12, 1, "near error", source="ruff", code="F821"),
        Problem(5, 6, 2, "warning"),
    ]
    items = diagnostic_items("a.py", problems, cursor=6)
    assert best_first(items) == ["near error", "far error", "warning", "hint at the cursor"]
    assert items[0].text == "- Error, `a.py#L10-L12` (ruff F821): near error"


def test_message_stays_in_its_list_item() -> None:
    (item,) = diagnostic_items("a.py", [Problem(0, 1, 2, "no such name\n\n```\n# Heading")], cursor=0)
    assert item.text == "- Warning, `a.py#L1-L1`: no such name\n  ```\n  # Heading"
    (empty,) = diagnostic_items("a.py", [Problem(0, 1, 3, "")], cursor=0)
    assert empty.text == "- Information, `a.py#L1-L1`: "


def test_queries_are_one_line_each() -> None:
    items = query_items(["where are\nships", " ", "`moor`", "where are ships"])
    assert [item.text for item in items] == ["- `where are ships`", "- `` `moor` ``"]
    assert items[0].score > items[1].score
