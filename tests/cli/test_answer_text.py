"""The look of answers on a terminal and in a pipe."""

from __future__ import annotations

import re
from typing import Any

import pytest
from attrs import evolve
from tests.search_results import search_result

from cairn import protocol
from cairn.cli import answer_text
from cairn.cli.output import display
from cairn.protocol.discovery_messages import (
    AnswerPlan,
    Bullet,
    DiscoveryMetrics,
    Excerpt,
    NamedPlace,
    Section,
)
from cairn.protocol.search_messages import FilePassage, FurtherPlaces, Mark, MatchedLine, whole_lines
from cairn.settings.discovery import BulletCategory, SectionType

ESCAPE = re.compile(r"\x1b\[[\d;]*m")

EXCERPT = Excerpt(
    path="src/berths.py",
    uri="file:///harbour/src/berths.py",
    folder="file:///harbour",
    range=whole_lines(98, 101),
    text="class Berth:\n\tship = None  # [bold]free[/]\n",
    citation="src/berths.py#L99-L101",
    symbol="Berth",
    header_path="Berth",
    language="python",
    reason="defines Berth",
    score=1.0,
)
RESULT = search_result(header_path="Berth", snippet="class Berth:\n")
BULLET = Bullet(
    text="A berth holds one ship.",
    citation="README.md#L3-L3",
    source_id="harbour-docs#0",
    collection="harbour-docs",
    path="README.md",
    uri="file:///harbour/README.md",
    range=whole_lines(2, 3),
    score=1.0,
    category=BulletCategory.DEFINITION,
)
PLAN = AnswerPlan((Section("Definition", SectionType.DEFINITION, 1, (BULLET,)),), 1, ("harbour-docs#0",))
VERDICT = protocol.Verdict("answer", "", (), 1.0, ())
INDEX = protocol.IndexState(1, True)
QUERY = protocol.QueryInfo("q", ("q",), "name", 0.5)


def discovery(*excerpts: Excerpt, prompt: str = "# Context\n") -> Any:
    metrics = DiscoveryMetrics(final_prompt_tokens=1234)
    return protocol.DiscoverAnswer(prompt, PLAN, (BULLET,), (), VERDICT, metrics, INDEX, excerpts)


def test_discovery_shows_numbered_lines_below_their_file(capsys: pytest.CaptureFixture[str]) -> None:
    last = evolve(EXCERPT, text="    return ship", range=whole_lines(119, 120), reason="")
    last = evolve(last, symbol="leave", header_path="leave")
    other = evolve(EXCERPT, path="src/tides.py", uri=f"{EXCERPT.folder}/src/tides.py", text="x = 1")
    answer_text.print_discovery(discovery(EXCERPT, last, other), limit=3)
    assert capsys.readouterr().out.splitlines() == [
        "src/berths.py",
        "  :99-101  Berth  defines Berth",
        "     99  class Berth:",
        "    100      ship = None  # [bold]free[/]",
        "    101  ",
        "",
        "  :120  leave",
        "    120      return ship",
        "",
        "src/tides.py",
        "  :99-101  Berth  defines Berth",
        "    99  x = 1",
        "",
        "A prompt of 1,234 tokens: --prompt prints it.",
    ]


def test_discovery_names_further_places_below_the_excerpts(capsys: pytest.CaptureFixture[str]) -> None:
    leave = NamedPlace(
        path="src/berths.py",
        uri=EXCERPT.uri,
        folder=EXCERPT.folder,
        range=whole_lines(119, 130),
        title="Berth.leave",
        about="(ship) -> list[Ship]",
        relation="called by moor_ship",
    )
    toll = evolve(leave, range=whole_lines(9, 10), title="toll", about=": A fee.", relation="")
    answer = evolve(discovery(EXCERPT), elsewhere=(leave, toll))
    answer_text.print_discovery(answer, limit=1)
    shown = capsys.readouterr().out.splitlines()
    assert shown[-6:] == [
        "",
        "More on request",
        "  src/berths.py:120-130  Berth.leave(ship) -> list[Ship]  called by moor_ship",
        "  src/berths.py:10  toll: A fee.",
        "",
        "A prompt of 1,234 tokens: --prompt prints it.",
    ]
    other = evolve(leave, folder="file:///tides")
    answer_text.print_discovery(evolve(answer, elsewhere=(leave, other)), limit=1)
    shown = capsys.readouterr().out.splitlines()
    assert "src/berths.py (harbour)" in shown
    assert any(line.startswith("  src/berths.py:120-130 (tides)  Berth.leave") for line in shown)


@pytest.mark.parametrize(
    ("limit", "lines", "left"),
    [
        (1, [":3"], "2 more excerpts: -n 3 shows them."),
        (2, [":2", ":3"], "1 more excerpt: -n 3 shows them."),
        (3, [":1", ":2", ":3"], ""),
    ],
)
def test_limit_leaves_the_best_excerpts_in_their_order(
    capsys: pytest.CaptureFixture[str], limit: int, lines: list[str], left: str
) -> None:
    excerpts = [
        evolve(EXCERPT, range=whole_lines(line, line + 1), score=score)
        for line, score in enumerate((0.1, 0.5, 1.0))
    ]
    answer_text.print_discovery(discovery(*excerpts), limit=limit)
    shown = capsys.readouterr().out
    assert re.findall(r"^  (:\d+)  Berth", shown, re.MULTILINE) == lines
    assert left in shown
    assert ("shows them" in shown) == bool(left)


@pytest.mark.parametrize("language", ["python", "no such language"])
def test_excerpt_in_colour_has_the_same_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    answer = discovery(evolve(EXCERPT, language=language))
    answer_text.print_discovery(answer, limit=2)
    plain = capsys.readouterr().out
    monkeypatch.setattr(display, "color", "always")
    answer_text.print_discovery(answer, limit=2)
    coloured = capsys.readouterr().out
    assert ESCAPE.sub("", coloured) == plain
    assert re.search(r"\x1b\[[\d;]+mclass\x1b", coloured)


def test_evidence_comes_first_if_the_prompt_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    answer_text.print_discovery(discovery(EXCERPT), limit=2)
    assert "A berth holds one ship." not in capsys.readouterr().out
    for answer in (discovery(), discovery(EXCERPT, prompt="## Definition\nA berth holds one ship.")):
        answer_text.print_discovery(answer, limit=2)
        shown = capsys.readouterr().out
        assert shown.startswith("Definition ──")
        assert "• A berth holds one ship.\n  README.md#L3-L3\n" in shown
    assert shown.index("one ship") < shown.index("Excerpts ──") < shown.index("class Berth")


def test_prompt_is_printed_exactly(capsys: pytest.CaptureFixture[str]) -> None:
    answer_text.print_prompt(discovery(EXCERPT, prompt="# [bold]Context[/]\n\tx"))
    assert capsys.readouterr().out == "# [bold]Context[/]\n\tx\n"
    answer_text.print_prompt(discovery(prompt=""))
    nothing = capsys.readouterr()
    assert nothing.out == ""
    assert "no evidence was found" in nothing.err


def test_further_passages_are_below_their_file(capsys: pytest.CaptureFixture[str]) -> None:
    further = (
        FilePassage(whole_lines(39, 52), "def leave(self):\n    pass", "leave", "Berth > leave", 0.6),
        FilePassage(whole_lines(69, 70), "x = 1", "", "", 0.5),
    )
    result = evolve(RESULT, passages=further)
    answer_text.print_search(protocol.SearchAnswer((result,), VERDICT, QUERY, INDEX, {}))
    assert capsys.readouterr().out.splitlines() == [
        " 1  src/berths.py:12-20  1.00 hybrid",
        "    moor_ship (method)",
        "    12  class Berth:",
        "    :40-52  Berth.leave",
        "      40  def leave(self):",
        "      41      pass",
        "    :70",
        "      70  x = 1",
        "",
    ]


def test_search_shows_the_lines_that_match(capsys: pytest.CaptureFixture[str]) -> None:
    body = [f"    step_{n}()" for n in range(60)]
    snippet = "\n".join(
        ["def moor_ship(self):", *body[:30], "    raise ValueError('berth is taken')", *body[30:]]
    )
    result = evolve(
        RESULT,
        range=whole_lines(11, 73),
        snippet=snippet,
        best_lines=whole_lines(36, 48),
        matched_terms=("berth", "taken"),
        passages=(FilePassage(whole_lines(99, 161), snippet, "", "", 0.6),),
    )
    query = protocol.QueryInfo("berth taken", ("berth", "taken"), "name", 0.5)
    answer_text.print_search(protocol.SearchAnswer((result,), VERDICT, query, INDEX, {}))
    shown = capsys.readouterr().out.splitlines()
    assert "    12  def moor_ship(self):" in shown
    assert "    43      raise ValueError('berth is taken')" in shown
    assert "      131      raise ValueError('berth is taken')" in shown
    assert len(shown) < 22


def test_reasons_are_shown_only_with_explain(capsys: pytest.CaptureFixture[str]) -> None:
    explained = evolve(RESULT, content_hash="1", match_explain=("defines the symbol: 1.00 × 2 = +2.00",))
    answer_text.print_search(protocol.SearchAnswer((RESULT, explained), VERDICT, QUERY, INDEX, {}))
    first, second = capsys.readouterr().out.split("\n\n")[:2]
    assert "defines" not in first
    assert "    moor_ship (method)  defines it; has moor\n" in second
    assert "    · defines the symbol: 1.00 × 2 = +2.00" in second


def test_lines_inside_a_function_are_below_its_head(capsys: pytest.CaptureFixture[str]) -> None:
    result = evolve(
        RESULT,
        range=whole_lines(41, 43),
        selection_range=whole_lines(11, 12),
        snippet="    kill(ship)\n    sink()\n",
        head="def moor_ship(self):",
    )
    answer_text.print_search(protocol.SearchAnswer((result,), VERDICT, QUERY, INDEX, {}))
    assert capsys.readouterr().out.splitlines()[2:] == [
        "    12  def moor_ship(self):",
        "    …",
        "    42      kill(ship)",
        "    43      sink()",
        "",
    ]


def test_words_of_the_query_are_emphasised_in_the_matching_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = MatchedLine(12, "moor('🚢', moor)", (Mark(0, 4), Mark(11, 15)))
    result = evolve(RESULT, snippet="class Berth:\n    moor('🚢', moor)\n    moor()\n", matched_line=line)
    monkeypatch.setattr(display, "color", "always")
    answer_text.print_search(protocol.SearchAnswer((result,), VERDICT, QUERY, INDEX, {}))
    emphasised = re.findall(r"\x1b\[(?:\d+;)*1;4(?:;\d+)*m(\w+)", capsys.readouterr().out)
    assert emphasised == ["moor", "moor"]


def test_places_that_were_left_out_are_counted_last(capsys: pytest.CaptureFixture[str]) -> None:
    further = (FurtherPlaces("kill", 6), FurtherPlaces("port", 1))
    answer = protocol.SearchAnswer((RESULT,), VERDICT, QUERY, INDEX, {}, further=further)
    answer_text.print_search(answer)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == '6 more places hold "kill". 1 more place holds "port".'


def test_related_passage_is_shown_from_the_related_line(capsys: pytest.CaptureFixture[str]) -> None:
    body = "".join(f"    ship_{n} = None\n" for n in range(7))
    result = evolve(
        RESULT,
        snippet=f"class Berth:\n{body}    moor(ship)\n",
        selection_range=whole_lines(19, 20),
        match_explain=("calls `moor`: 1.00 × 1.5 = +1.50",),
    )
    answer_text.print_related(protocol.RelatedAnswer((result,), INDEX, {}))
    assert capsys.readouterr().out.splitlines() == [
        " 1  src/berths.py:12-20  1.00 hybrid",
        "    moor_ship (method)  defines the symbol",
        *(f"    {15 + n}      ship_{2 + n} = None" for n in range(5)),
        "    20      moor(ship)",
        "    … 3 more lines",
        "    · calls `moor`: 1.00 × 1.5 = +1.50",
        "",
    ]
    answer_text.print_related(
        protocol.RelatedAnswer((evolve(result, selection_range=whole_lines(12, 13)),), INDEX, {})
    )
    shown = capsys.readouterr().out.splitlines()[2:-3]
    assert shown == [f"    {13 + n}      ship_{n} = None" for n in range(6)]


@pytest.mark.parametrize(
    ("verdict", "begins"),
    [
        (
            protocol.Verdict("noMatch", "Which part should I explain?", (), 0.0, ()),
            "Nothing here clearly matches. These are only the nearest. Which part should I explain?",
        ),
        (protocol.Verdict("answer", "The evidence is weak.", (), 0.0, ()), "The evidence is weak."),
    ],
)
def test_verdict_comes_before_the_excerpts(
    capsys: pytest.CaptureFixture[str], verdict: protocol.Verdict, begins: str
) -> None:
    answer_text.print_discovery(evolve(discovery(EXCERPT), verdict=verdict), limit=2)
    assert " ".join(capsys.readouterr().out.split()).startswith(begins)
