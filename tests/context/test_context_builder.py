"""A context keeps its budgets, and leaves out what is worth the least."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import BPE

from cairn.context.builder import assemble, part_budgets
from cairn.context.model import Item, PartName
from cairn.discovery.render import estimate_tokens
from cairn.embedding.model_files import find_model
from cairn.embedding.tokenization import TextTokenizer, load_tokenizer
from cairn.settings.tree import ContextSettings

SUM = 3000
NOTHING = dict.fromkeys(PartName, 0)


def words(text: str) -> int:
    return len(text.split())


def passage(name: str, score: float, lines: int = 3, **fields: object) -> Item:
    """Lines of five words each."""
    text = "".join(f"{name} line {number} of many\n" for number in range(lines))
    return Item(text, name, score, f"{name}.py", (10, 10 + lines), quoted=True, **fields)  # type: ignore[arg-type]


def passages(*items: Item) -> dict[PartName, Sequence[Item]]:
    return {PartName.PASSAGES: items}


def budgets(**given: int) -> dict[PartName, int]:
    return NOTHING | {PartName[name.upper()]: tokens for name, tokens in given.items()}


@pytest.fixture(scope="module")
def tokenizer() -> TextTokenizer:
    model = find_model()
    if model is None:
        pytest.fail("The default model is not installed. Run `cairn model install` before the tests.")
    return load_tokenizer(model)


# --- budgets -------------------------------------------------------------------------------------------


def test_the_budgets_are_those_of_the_table() -> None:
    assert part_budgets(ContextSettings()) == {
        PartName.CORE_CONCEPTS: 500,
        PartName.PASSAGES: 1500,
        PartName.EDITOR_STATE: 300,
        PartName.DIAGNOSTICS: 200,
        PartName.RECENT_QUERIES: 500,
    }


def test_a_smaller_total_takes_from_every_part_and_a_larger_one_is_for_passages() -> None:
    assert part_budgets(ContextSettings(), 1500) == {
        PartName.CORE_CONCEPTS: 250,
        PartName.PASSAGES: 750,
        PartName.EDITOR_STATE: 150,
        PartName.DIAGNOSTICS: 100,
        PartName.RECENT_QUERIES: 250,
    }
    larger = part_budgets(ContextSettings(), 8000)
    assert larger == part_budgets(ContextSettings()) | {PartName.PASSAGES: 6500}


@given(
    total=st.integers(0, 100_000),
    own=st.lists(st.integers(0, 5000), min_size=5, max_size=5),
)
def test_the_budgets_add_up_to_the_total(total: int, own: list[int]) -> None:
    shares = part_budgets(ContextSettings(*own), total)
    assert sum(shares.values()) == total
    assert min(shares.values()) >= 0


# --- what is left out --------------------------------------------------------------------------------


def test_the_lowest_scored_passage_goes_first_and_as_a_whole() -> None:
    items = [passage(name, score) for name, score in (("low", 0.2), ("high", 0.9), ("middle", 0.5))]
    everything = assemble(passages(*items), budgets(passages=200), words)
    assert not everything.dropped
    assert [everything.text.index(f"{name}.py") for name in ("high", "middle", "low")] == sorted(
        everything.text.index(f"{name}.py") for name in ("high", "middle", "low")
    )
    fewer = assemble(passages(*items), budgets(passages=everything.tokens - 1), words)
    (dropped,) = fewer.dropped
    assert (dropped.title, dropped.citation, dropped.score) == ("low", "low.py#L11-L13", 0.2)
    assert dropped.why == f"over the budget of {everything.tokens - 1} tokens"
    assert dropped.tokens == everything.tokens - fewer.tokens
    assert "low" not in fewer.text
    assert "high line 2 of many\n" in fewer.text
    assert "middle line 2 of many\n" in fewer.text


def test_no_passage_is_kept_that_scores_less_than_one_that_is_left_out() -> None:
    items = [passage("best", 0.9), passage("long", 0.8, lines=9), passage("short", 0.7, lines=1)]
    built = assemble(passages(*items), budgets(passages=60), words)
    assert [dropped.title for dropped in built.dropped] == ["long", "short"]


def test_each_part_keeps_its_own_budget() -> None:
    state = {PartName.EDITOR_STATE: [Item(f"- open {n}", f"{n}", 1 - n / 10) for n in range(9)]}
    built = assemble(passages(passage("only", 0.5)) | state, budgets(passages=500, editor_state=14), words)
    used = {part.name: part for part in built.parts}
    assert used[PartName.EDITOR_STATE].tokens <= 14
    assert used[PartName.EDITOR_STATE].budget == 14
    assert {dropped.part for dropped in built.dropped} == {PartName.EDITOR_STATE}
    assert "only line 2" in built.text
    assert used[PartName.DIAGNOSTICS].tokens == 0


def test_a_part_without_items_is_not_shown() -> None:
    assert assemble(passages(), budgets(passages=100), words).text == ""


# --- what is cut ---------------------------------------------------------------------------------------


def test_a_very_long_passage_is_cut_between_lines_and_says_so() -> None:
    built = assemble(passages(passage("long", 0.5, lines=100)), budgets(passages=60), words)
    shown = [line for line in built.text.splitlines() if line.startswith("long line")]
    assert 0 < len(shown) < 12
    assert shown == [f"long line {number} of many" for number in range(len(shown))]
    assert f"### long.py#L11-L{10 + len(shown)} long" in built.text
    assert f"[cut: {100 - len(shown)} lines after]" in built.text
    (cut,) = built.dropped
    assert cut.citation == "long.py#L11-L110"
    assert cut.why.startswith(f"cut to long.py#L11-L{10 + len(shown)}")
    assert cut.tokens == 5 * (100 - len(shown)) - words(f"[cut: {100 - len(shown)} lines after]")
    assert built.tokens <= 60


def test_the_line_of_the_cursor_stays_the_longest() -> None:
    built = assemble(passages(passage("long", 0.5, lines=100, focus=50)), budgets(passages=40), words)
    assert "long line 50 of many" in built.text
    assert "lines before and" in built.text
    assert "long line 0 of" not in built.text
    assert "long line 99 of" not in built.text


def test_a_line_that_is_too_long_is_left_out_as_a_whole() -> None:
    item = Item("word " * 500, "minified", 0.5, "a.js", (0, 1), quoted=True)
    built = assemble(passages(item), budgets(passages=100), words)
    assert built.text == ""
    assert [dropped.title for dropped in built.dropped] == ["minified"]


def test_lines_of_a_notebook_cell_are_not_numbered() -> None:
    item = Item("x = 1\n" * 90, "cell", 0.5, "a.ipynb", (0, 1), quoted=True)
    assert "### a.ipynb#L1-L1 cell" in assemble(passages(item), budgets(passages=60), words).text


def test_a_text_with_fences_stays_one_quotation() -> None:
    item = Item(
        "Use it:\n```sh\ncairn\n```\n", "readme", 0.5, "README.md", (0, 4), quoted=True, language="markdown"
    )
    text = assemble(passages(item), budgets(passages=100), words).text
    assert "````markdown\nUse it:\n```sh\ncairn\n```\n````\n" in text


def test_a_language_that_is_no_word_is_not_written_after_a_fence() -> None:
    item = Item("x\n", "t", 0.5, "a.md", (0, 1), quoted=True, language="sh\n# Not a heading")
    assert "Not a heading" not in assemble(passages(item), budgets(passages=100), words).text


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


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(parts=PARTS, budget=st.integers(0, 8000))
@pytest.mark.parametrize("real", [True, False])
def test_a_context_never_has_more_tokens_than_its_budget(
    tokenizer: TextTokenizer, real: bool, parts: dict[PartName, Sequence[Item]], budget: int
) -> None:
    count: Callable[[str], int] = tokenizer.count if real else estimate_tokens
    by_line = real and tokenizer.counts_by_line
    allowed = part_budgets(ContextSettings(), budget)
    built = assemble(parts, allowed, count, by_line)
    assert count(built.text) <= built.tokens <= budget
    for part in built.parts:
        assert part.tokens <= allowed[part.name] == part.budget
    assert assemble(parts, allowed, count, by_line) == built
    # Nothing disappears unnoticed, and nothing better than what is shown.
    for name, items in parts.items():
        of_part = [each for each in built.dropped if each.part is name]
        cut = sum(each.why.startswith("cut") for each in of_part)
        best_first = sorted(items, key=lambda item: -item.score)
        kept = best_first[: len(best_first) - (len(of_part) - cut)]
        for item in kept[: len(kept) - cut]:
            assert item.text.rstrip("\n") in built.text


def test_the_default_model_counts_by_line(tokenizer: TextTokenizer) -> None:
    text = "def moor(ship):\n\n    # caf\u00e9 \u4e16\u754c `x_y`\n    return ship\t+ 1\r\n" * 3
    assert tokenizer.counts_by_line
    framed, special = (len(tokenizer.framed_ids(each, 1_000)) for each in (text, ""))
    assert tokenizer.count(text) == framed - special > 0


def test_a_tokenizer_with_tokens_for_line_ends_counts_them() -> None:
    tokenizer = TextTokenizer(Tokenizer(BPE({"a": 0, "\n": 1}, [])))
    assert not tokenizer.counts_by_line
    assert tokenizer.count("a\n\na") == 4


def test_a_tokenizer_that_merges_across_blocks_is_kept_within_the_budget_too() -> None:
    def awkward(text: str) -> int:
        return len(text.split()) * (1 + text.count("\n### "))

    items = [passage(name, score) for name, score in (("low", 0.2), ("high", 0.9), ("middle", 0.5))]
    built = assemble(passages(*items), budgets(passages=110), awkward)
    assert awkward(built.text) == built.tokens <= 110
    assert built.dropped
    assert built.dropped[-1].title == "low"
    assert "whole budget" in built.dropped[0].why
