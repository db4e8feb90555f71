"""Contexts keep their budgets, and leave out the least valuable items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cairn.context.builder import Assembled, Item, PartName, assemble, part_budgets
from cairn.embedding.packaged import load_vocabulary
from cairn.embedding.shared import estimate_tokens
from cairn.settings.tree import ContextSettings

NOTHING = dict.fromkeys(PartName, 0)


def words(text: str) -> int:
    return len(text.split())


def passage(name: str, score: float, lines: int = 3, **fields: Any) -> Item:
    """Return a passage with lines of five words each."""
    text = "".join(f"{name} line {number} of many\n" for number in range(lines))
    return Item(text, name, score, f"{name}.py", (10, 10 + lines), quoted=True, **fields)


def built(*items: Item, tokens: int) -> Assembled:
    """Assemble passages alone, with words as tokens."""
    return assemble(passages(*items), budgets(passages=tokens), words)


THREE = [passage(name, score) for name, score in (("low", 0.2), ("high", 0.9), ("middle", 0.5))]


def passages(*items: Item) -> dict[PartName, Sequence[Item]]:
    return {PartName.PASSAGES: items}


def budgets(**given: int) -> dict[PartName, int]:
    return NOTHING | {PartName[name.upper()]: tokens for name, tokens in given.items()}


# --- budgets -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        (None, (500, 1500, 300, 200, 500)),
        (1500, (250, 750, 150, 100, 250)),
        (8000, (500, 6500, 300, 200, 500)),
    ],
    ids=["default", "smaller: all parts", "larger: passages"],
)
def test_total_is_divided_among_the_parts(total: int | None, expected: tuple[int, ...]) -> None:
    assert tuple(part_budgets(ContextSettings(), total).values()) == expected


@given(total=st.integers(0, 100_000), own=st.lists(st.integers(0, 5000), min_size=5, max_size=5))
def test_budgets_add_up_to_the_total(total: int, own: list[int]) -> None:
    shares = part_budgets(ContextSettings(*own), total)
    assert sum(shares.values()) == total
    assert min(shares.values()) >= 0


# --- what is left out --------------------------------------------------------------------------------


def test_lowest_scored_passage_is_left_out_as_a_whole() -> None:
    everything = built(*THREE, tokens=200)
    assert not everything.dropped
    places = [everything.text.index(f"{name}.py") for name in ("high", "middle", "low")]
    assert places == sorted(places)
    fewer = built(*THREE, tokens=everything.tokens - 1)
    (dropped,) = fewer.dropped
    assert (dropped.title, dropped.citation, dropped.score) == ("low", "low.py#L11-L13", 0.2)
    assert dropped.why == f"over the budget of {everything.tokens - 1} tokens"
    assert dropped.tokens == everything.tokens - fewer.tokens
    assert "low" not in fewer.text
    assert "high line 2 of many\n" in fewer.text
    assert "middle line 2 of many\n" in fewer.text


def test_no_passage_scores_less_than_one_left_out() -> None:
    items = [passage("best", 0.9), passage("long", 0.8, lines=9), passage("short", 0.7, lines=1)]
    assert [dropped.title for dropped in built(*items, tokens=60).dropped] == ["long", "short"]


def test_parts_keep_their_own_budgets() -> None:
    state = {PartName.EDITOR_STATE: [Item(f"- open {n}", f"{n}", 1 - n / 10) for n in range(9)]}
    limits = budgets(passages=500, editor_state=14)
    context = assemble(passages(passage("only", 0.5)) | state, limits, words)
    used = {part.name: part for part in context.parts}
    assert used[PartName.EDITOR_STATE].tokens <= 14
    assert used[PartName.EDITOR_STATE].budget == 14
    assert {dropped.part for dropped in context.dropped} == {PartName.EDITOR_STATE}
    assert "only line 2" in context.text
    assert used[PartName.DIAGNOSTICS].tokens == 0


def test_part_without_items_is_not_shown() -> None:
    assert built(tokens=100).text == ""


# --- cuts ----------------------------------------------------------------------------------------------


def test_very_long_passage_is_cut_between_lines_with_a_mark() -> None:
    context = built(passage("long", 0.5, lines=100), tokens=60)
    shown = [line for line in context.text.splitlines() if line.startswith("long line")]
    assert 0 < len(shown) < 12
    assert shown == [f"long line {number} of many" for number in range(len(shown))]
    assert f"### long.py#L11-L{10 + len(shown)} long" in context.text
    assert f"[cut: {100 - len(shown)} lines after]" in context.text
    (cut,) = context.dropped
    assert cut.citation == "long.py#L11-L110"
    assert cut.why.startswith(f"cut to long.py#L11-L{10 + len(shown)}")
    assert cut.tokens == 5 * (100 - len(shown)) - words(f"[cut: {100 - len(shown)} lines after]")
    assert context.tokens <= 60


def test_line_of_the_cursor_is_cut_last() -> None:
    text = built(passage("long", 0.5, lines=100, focus=50), tokens=40).text
    assert "long line 50 of many" in text
    assert "lines before and" in text
    assert "long line 0 of" not in text
    assert "long line 99 of" not in text


def quoted(text: str, path: str, lines: int, language: str = "") -> Item:
    return Item(text, "title", 0.5, path, (0, lines), quoted=True, language=language)


def test_too_long_line_is_left_out_as_a_whole() -> None:
    context = built(quoted("word " * 500, "a.js", 1), tokens=100)
    assert context.text == ""
    assert [dropped.title for dropped in context.dropped] == ["title"]


def test_lines_of_a_notebook_cell_are_not_numbered() -> None:
    assert "### a.ipynb#L1-L1 title" in built(quoted("x = 1\n" * 90, "a.ipynb", 1), tokens=60).text


def test_text_with_fences_stays_one_quotation() -> None:
    text = built(quoted("Use it:\n```sh\ncairn\n```\n", "README.md", 4, "markdown"), tokens=100).text
    assert "````markdown\nUse it:\n```sh\ncairn\n```\n````\n" in text


def test_language_with_line_breaks_is_not_written_after_a_fence() -> None:
    text = built(quoted("x\n", "a.md", 1, "sh\n# Not a heading"), tokens=100).text
    assert "Not a heading" not in text


# --- always --------------------------------------------------------------------------------------------

LINES = st.lists(st.text(alphabet="ab .`#\u00e9\u4e16\t\ud7ff", max_size=60), max_size=30)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
TEXTS = st.one_of(
    st.text(max_size=400),
    st.builds(lambda lines, end: "".join(line + end for line in lines), LINES, ENDS),
    st.builds(lambda word, times: f"{word}\n" * times, st.text(min_size=1, max_size=20), st.integers(1, 300)),
)
ITEMS = st.builds(
    Item,
    text=TEXTS,
    title=st.text(max_size=20),
    score=st.floats(0, 1),
    path=st.text(max_size=20),
    lines=st.one_of(st.none(), st.tuples(st.integers(0, 50), st.integers(50, 90))),
    quoted=st.booleans(),
    language=st.sampled_from(["", "python", "c++", "odd language"]),
    note=st.sampled_from(["", "Why: similar in meaning"]),
    focus=st.integers(0, 400),
)
PARTS = st.lists(ITEMS, max_size=25).map(
    lambda items: {name: items[place::5] for place, name in enumerate(PartName)}
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(parts=PARTS, budget=st.integers(0, 8000))
@pytest.mark.parametrize("count", [load_vocabulary().count, estimate_tokens])
def test_context_never_exceeds_its_budget(
    count: Callable[[str], int], parts: dict[PartName, Sequence[Item]], budget: int
) -> None:
    allowed = part_budgets(ContextSettings(), budget)
    context = assemble(parts, allowed, count)
    assert count(context.text) <= context.tokens <= budget
    for part in context.parts:
        assert part.tokens <= allowed[part.name] == part.budget
    assert assemble(parts, allowed, count) == context
    # Every omission is reported, and nothing left out is better than what is shown.
    for name, items in parts.items():
        of_part = [each for each in context.dropped if each.part is name]
        cut = sum(each.why.startswith("cut") for each in of_part)
        best_first = sorted(items, key=lambda item: -item.score)
        kept = best_first[: len(best_first) - (len(of_part) - cut)]
        for item in kept[: len(kept) - cut]:
            assert item.text.rstrip("\n") in context.text


def test_tokenizer_that_merges_across_blocks_keeps_the_budget() -> None:
    def awkward(text: str) -> int:
        return len(text.split()) * (1 + text.count("\n### "))

    context = assemble(passages(*THREE), budgets(passages=110), awkward)
    assert awkward(context.text) == context.tokens <= 110
    assert context.dropped
    assert context.dropped[-1].title == "low"
    assert "whole budget" in context.dropped[0].why
