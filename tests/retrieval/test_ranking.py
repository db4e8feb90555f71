"""Each signal decides between some pair of files, and settings change its weight."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from attrs import evolve
from tests.retrieval.indexed_folder import FolderOf
from tests.retrieval.ranking_builders import MadeUpChunk, MadeUpFile, file, order, scores
from tests.retrieval.searching import search

from cairn.engine.engine import Engine
from cairn.engine.status import status_of
from cairn.retrieval.candidates import Floats
from cairn.retrieval.query import understand
from cairn.retrieval.scores import Family, Signal, SignalInputs
from cairn.retrieval.signals import SIGNALS, weight_warnings, weighted
from cairn.settings.tree import SearchSettings

REPORT = f"Cranes stop at noon\n{'A crane that lifts a crate stops without a word. ' * 6}"

PAIRS = [
    # Words
    ("parse", file("src/a.py", keyword=2), file("src/b.py", keyword=1)),
    ("parse", file("src/a.py", keyword=3), file("src/b.py", keyword=1.8, chunks=2)),
    ("parse", file("src/a.py", chunks=3), file("src/b.py", chunks=1)),
    ("parse", file("src/a.py", definition=2), file("src/b.py", definition=1)),
    ("parse the header", file("src/a.py", words=1), file("src/b.py", words=0.5)),
    ("Berth", file("src/a.rs", reexport=1), file("src/b.rs")),
    ("session cookie", file("src/sessions.py"), file("src/app.py")),
    ("thread pool size", file("src/threadpool.c"), file("src/workers.c")),
    ("oauth2 login", file("src/oauth2.py"), file("src/oauth1.py")),
    ("json provider", file("src/json/__init__.py"), file("src/app/__init__.py")),
    ("json provider", file("src/json/base.py"), file("src/app/base.py")),
    ("where is a request read", file("lib/req.js"), file("lib/res.js")),
    # Meaning
    ("parse", file("src/a.py", similarity=0.6), file("src/b.py", similarity=0.3)),
    (
        "parse",
        file("src/a.py", keyword=0, similarity=0.6),
        file("src/b.py", keyword=0, similarity=0.4, chunks=3),
    ),
    (
        "parse",
        file("src/a.py", keyword=0, similarity=0.6, chunks=2),
        file("src/b.py", keyword=0, similarity=0.6),
    ),
    ("parse", file("src/a.py", near=0.8), file("src/b.py", near=0.5)),
    ("parse", file("src/a.py", whole=0.3), file("src/b.py", whole=0.1)),
    # The package
    ("which machine lifts", file("hoists/a.py", about=0.4), file("sea/b.py", keyword=1.2)),
    # Names
    ("parse_args", file("src/a.py", symbol=1, defines=("parse_args",)), file("src/b.py", keyword=1.5)),
    (
        "ZodType",
        file("src/a.ts", symbol=0.9, defines=("$ZodType",), kind="interface"),
        file("src/b.ts", symbol=0.5, defines=("zod_type",)),
    ),
    # Literals and paths
    ("x y", file("src/a.py", keyword=1, exact=0.8), file("src/b.py", keyword=3)),
    ("moor_all", file("tests/test_a.py", keyword=1, exact=1), file("src/b.py", keyword=3, similarity=0.6)),
    (REPORT, file("src/a.py", named=1), file("src/b.py", named=0.1)),
    ("crane in src/port", file("src/port/a.py", is_named=True), file("src/b.py", keyword=3)),
    # The repository
    ("mooring ropes", file("src/a.py", subjects=0.6), file("src/b.py", subjects=0.2)),
    ("mooring ropes", file("src/a.py", in_degree=40), file("src/b.py", in_degree=1)),
    ("mooring ropes", file("src/a.py"), file("vendor/a.py", keyword=1.2, is_copy=True)),
    ("rack middleware", file("lib/a.rb"), file("src/a.py", keyword=1.1, folder=1, folder_words=-0.6)),
    # Earlier choices
    ("mooring ropes", file("src/a.py", chosen=True), file("src/b.py", keyword=1.1)),
    # Kinds of files
    ("where is it parsed", file("src/a.py"), file("tests/test_a.py")),
    ("where is it parsed", file("src/a.py"), file("examples/a.py")),
    ("where is it parsed", file("src/a.py"), file("docs/a.md")),
    ("where is it parsed", file("src/a.py"), file("conf/a.yaml")),
    ("where is it parsed", file("src/a.c"), file("include/a.h", keyword=1.2)),
    ("how do I moor a boat", file("docs/ropes.md", keyword=1), file("src/a.py", keyword=1.5)),
    ("what is Harbour", file("README.md"), file("docs/harbour.md", keyword=1.2)),
    ("where is it parsed", file("site/en/a.py"), file("site/de/a.py", keyword=1.2)),
    ("where is it parsed", file("README.md"), file("README.zh-CN.md", keyword=1.2)),
    ("where is it parsed", file("src/v4/a.py"), file("src/v3/a.py")),
    ("where is it parsed", file("src/v10/a.py"), file("src/v9/a.py")),
]


@pytest.mark.parametrize(("query", "better", "worse"), PAIRS)
def test_the_better_file_comes_first(query: str, better: MadeUpFile, worse: MadeUpFile) -> None:
    assert order(query, worse, better) == [better.path, worse.path]


@pytest.mark.parametrize("signal", [signal.title for signal in SIGNALS if signal.weight])
def test_each_signal_decides_one_of_these_pairs(signal: str) -> None:
    others = weighted({signal: 0.0})
    assert [pair for pair in PAIRS if order(pair[0], pair[2], pair[1], signals=others)[0] != pair[1].path]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("tests of the parser", "tests/parser.py"),
        ("an example of a parser", "examples/parser.py"),
        ("installation guide", "docs/a.md"),
        ("ci workflow", ".github/workflows/a.yml"),
    ],
)
def test_a_requested_kind_of_file_is_not_penalised(query: str, path: str) -> None:
    (scored,) = scores(understand(query), [file(path)])
    assert not [reason for reason in scored.reasons if reason.signal.startswith("is ")]


def test_a_version_is_older_only_beside_a_newer_one() -> None:
    files = [file("src/v3/a.py"), file("other/v4/a.py"), file("src/v4/a.py", folder=1)]
    assert len({scored.score for scored in scores(understand("parse"), files)}) == 1


def test_a_requested_version_is_not_penalised() -> None:
    newer, older = file("src/v4/a.py"), file("src/v3/a.py", keyword=1.2)
    assert order("parse", newer, older) == ["src/v4/a.py", "src/v3/a.py"]
    assert order("parse as in v3", newer, older) == ["src/v3/a.py", "src/v4/a.py"]


# --- definitions -----------------------------------------------------------------------------------


def test_a_type_ranks_before_a_function_and_a_member() -> None:
    files = [
        file("src/member.py", symbol=1, defines=("Port", "berth"), kind="class"),
        file("src/function.py", symbol=1, defines=("berth",), kind="function"),
        file("src/type.py", symbol=1, defines=("Berth",), kind="class"),
    ]
    assert order("berth", *files) == ["src/type.py", "src/function.py", "src/member.py"]


def test_a_definition_counts_only_for_a_name() -> None:
    files = [file("src/a.py", symbol=1, defines=("berth",)), file("src/b.py")]
    (defining, other) = scores(understand("where do ships moor at a berth"), files)
    assert defining.score == other.score


@pytest.mark.parametrize("name", ["$Berth", "@Berth", "_Berth", "#Berth", "Berth", "berth"])
def test_sigils_and_case_do_not_matter_to_a_definition(name: str) -> None:
    plain, own = (
        scores(understand("Berth"), [file("src/a.py", symbol=1, defines=(each,), kind="class")])[0]
        for each in ("Berth", name)
    )
    assert own == plain


@pytest.mark.parametrize("kind", ["tests/test_b.py", "examples/b.py"])
def test_a_name_defined_only_in_tests_or_examples_is_found(kind: str) -> None:
    contains_words = file("src/a.py", keyword=2, words=1, in_degree=9)
    defines = file(kind, words=1, symbol=1, defines=("moor_at_dawn",))
    assert order("moor_at_dawn", contains_words, defines)[0] == kind
    elsewhere = file("src/c.py", symbol=1, defines=("moor_at_dawn",))
    assert order("moor_at_dawn", contains_words, defines, elsewhere)[::2] == ["src/c.py", kind]
    assert order("where do ships moor at dawn", contains_words, defines)[0] == "src/a.py"


# --- scores ---------------------------------------------------------------------------------------


def test_alpha_moves_the_balance_between_words_and_meaning() -> None:
    words, meaning = file("src/a.py", keyword=1.0), file("src/b.py", keyword=0.0, similarity=0.5)
    assert order("x y", words, meaning, alpha=0.0)[0] == "src/a.py"
    assert order("x y", words, meaning, alpha=1.0)[0] == "src/b.py"


@pytest.mark.parametrize("similarity", [0.4, 0.0])
def test_a_score_is_the_share_of_the_best_possible_sum(similarity: float) -> None:
    files = [file("src/session.py", keyword=3, similarity=similarity), file("src/a.py", keyword=0.1)]
    possible = sum(
        signal.weight
        for signal in SIGNALS
        if signal.weight > 0 and signal.always and (similarity or signal.family is not Family.VECTOR)
    )
    for scored in scores(understand("session cookie"), files):
        total = sum(reason.value * reason.weight for reason in scored.reasons)
        assert scored.score == pytest.approx(total / possible) or scored.score < 0.05


def test_a_literal_without_matches_changes_no_score() -> None:
    files = [file("src/a.py", keyword=3), file("src/b.py", keyword=2, similarity=0.5)]
    others = [signal for signal in SIGNALS if signal.title != "contains the literal text"]
    query = understand("x y")
    assert scores(query, files) == scores(query, files, others)


def test_files_that_are_all_penalised_keep_their_order() -> None:
    tests = [file(f"tests/test_{name}.py", keyword=weight) for name, weight in (("a", 1), ("b", 3), ("c", 2))]
    assert order("where is it parsed", *tests) == ["tests/test_b.py", "tests/test_c.py", "tests/test_a.py"]


def test_no_files_have_no_scores() -> None:
    assert scores(understand("x"), []) == []


# --- floors and weights ----------------------------------------------------------------------------


def test_the_best_of_poor_commit_subjects_counts_little() -> None:
    def values(*subjects: float) -> list[float]:
        files = [file(f"src/{n}.py", subjects=value) for n, value in enumerate(subjects)]
        reasons = [scored.reasons for scored in scores(understand("mooring ropes"), files)]
        return [r.value for parts in reasons for r in parts if r.signal == "commit subjects"]

    assert values(0.6, 0.3) == [1.0, 0.5]
    assert values(0.15, 0.03) == pytest.approx([0.5, 0.1])
    assert values(0.0) == []


def test_a_signal_of_weight_0_is_not_evaluated() -> None:
    def value(_: SignalInputs) -> Floats:
        raise AssertionError("it was evaluated")

    off = Signal("off", "off", 0.0, value)
    assert scores(understand("parse"), [file("src/a.py")], [*SIGNALS, off])
    with pytest.raises(AssertionError, match="it was evaluated"):
        scores(understand("parse"), [file("src/a.py")], [evolve(off, weight=1.0)])


@pytest.mark.parametrize(
    ("weights", "first"),
    [
        ({}, "src/a.py"),
        ({"is a test": 0.0}, "tests/test_a.py"),
        ({"is a test": 0.0, "keywords in its best chunk": 0.0, "keywords in its best eight chunks": 0.0}, "src/a.py"),  # noqa: E501
        ({"no such signal": 9.0}, "src/a.py"),
    ],
)  # fmt: skip
def test_settings_change_weights(weights: Mapping[str, float], first: str) -> None:
    files = (file("src/a.py", keyword=1, similarity=0.5), file("tests/test_a.py", keyword=3, similarity=0.4))
    assert order("where is it parsed", *files, signals=weighted(weights))[0] == first


def test_weights_of_the_settings_reach_a_search(folder_of: FolderOf) -> None:
    folder = folder_of(
        {
            "src/moor.py": "def moor(ship):\n    return ship\n",
            "tests/test_moor.py": "def test_moor(ship):\n    # moor and moor again: moor ships, moor ropes\n    moor\n",  # noqa: E501
        },
    )

    def first(**weights: float) -> str:
        settings = SearchSettings(weights={name.replace("_", " "): value for name, value in weights.items()})
        return search([folder.reader], "where do ships moor", settings=settings)[0].stored.path

    assert first() == "src/moor.py"
    assert first(is_a_test=9.0) == "tests/test_moor.py"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("is test", "no signal is called so; did you mean 'is a test'?"),
        ("Commit subject", "no signal is called so; did you mean 'commit subjects'?"),
        ("recently changed", "no signal is called so"),
    ],
)
def test_an_unknown_name_of_a_weight_causes_a_warning(name: str, problem: str) -> None:
    assert weight_warnings({name: 2.0, "is a test": 0.0}) == [f"search.weights.{name}: {problem}"]


def test_the_status_warns_once_of_unknown_weights(bare_data_dir: Path, tmp_path: Path) -> None:
    engine = Engine()
    for name, weights in (
        ("one", '"is test" = 0\n"file name" = 1\n'),
        ("two", '"is test" = 2\n"folder" = 1\n'),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".cairn.toml").write_text(f"[search.weights]\n{weights}")
        engine.add_folder(tmp_path / name, keep_indexed=False)
    warnings = [warning for warning in status_of(engine.request()).warnings if "weights" in warning]
    assert len(warnings) == 2
    assert "'is a test'" in warnings[0]
    assert "'folder names'" in warnings[1]
    engine.stop()


# --- order -----------------------------------------------------------------------------------------


def test_equal_scores_are_ordered_by_path(folder_of: FolderOf) -> None:
    names = ["c", "a", "b"]
    folder = folder_of({f"{name}.txt": "of mooring\n" for name in names})
    readers = [folder.reader]
    for _ in range(2):
        found = search(readers, "mooring of")
        assert [ranked.stored.path for ranked in found] == ["a.txt", "b.txt", "c.txt"]
        folder.writer.write((), ["a.txt"])
        folder.save({"a.txt": "of mooring\n"})


def test_a_preamble_needs_twice_the_match(folder_of: FolderOf, monkeypatch: pytest.MonkeyPatch) -> None:
    imports = "".join(f"import ship_{n}\nimport moor_{n}\n" for n in range(40))
    body = "    pass\n" * 120
    folder = folder_of({"a.py": f"{imports}\n\ndef moor(ship):\n{body}\n\ndef tide():\n{body}"})

    def shown() -> str:
        return search([folder.reader], "where do ships moor")[0].stored.chunk.symbol

    assert shown() == "moor"
    monkeypatch.setattr("cairn.retrieval.scoring._PREAMBLE_SHARE", 9.0)
    assert shown() == ""


def test_a_chunk_counts_by_all_legs() -> None:
    words, both = MadeUpChunk(keyword=3), MadeUpChunk(keyword=3, similarity=0.9)
    (scored,) = scores(understand("moor a ship"), [evolve(file("src/a.py"), chunks=(words, both))])
    values = {reason.signal: reason.value for reason in scored.reasons}
    assert values["keywords in its best chunk"] == values["meaning of its best chunk"] == 1.0
