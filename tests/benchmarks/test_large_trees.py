"""Tests of the benchmark of large trees: sets, scores, unique names, doc comments, copies, branches."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
from attrs import evolve
from engine.daemon import PATIENCE_SECONDS, Daemon, all_files_indexed
from large import doc_sentences, sampling, soak, symbols
from large.asking import answers_in_process, not_indexed, search_settings
from large.copies import linked_copy, take_index
from large.scoring import Answer, Result, compared, figures_of, grouped, write_lines
from large.sets import HALVES, KEPT, TREES, TUNED, Question, SetError, Target, read_sets, write_set
from large.symbols import Definition

from cairn.errors import InvalidRequestError

RIGHT, WRONG = Result("port/pilot.c", 10, 20), Result("port/tug.c", 1, 9)


def question(path: str = "port/pilot.c", line: int | None = None, kind: str = "how") -> Question:
    return Question(f"{kind}-1", "kernel", TUNED, "who guides a ship", kind, (Target(path, line, line),))


# --- sets -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("tree", TREES)
def test_sets_that_come_with_the_benchmark_are_read(tree: str) -> None:
    questions = read_sets(tree, HALVES)

    written = [each for each in questions if each.kind not in {"symbol", "type", "known"}]
    assert len(written) >= {"kernel": 60, "jdk": 40}[tree]
    assert {each.half for each in written} == set(HALVES)
    assert len([each for each in questions if each.kind == "symbol"]) == 200
    assert len({each.query for each in written}) == len(written)
    assert not any(each.kind == "sentence" for each in questions)


def test_a_set_is_read_as_it_was_written(tmp_path: Path) -> None:
    given_questions = [question(), evolve(question(line=12), id="how-2", secondary=(Target("port/tug.c"),))]
    write_set(given_questions, tmp_path / TUNED / "kernel-questions.json")

    assert read_sets("kernel", folder=tmp_path) == given_questions
    assert read_sets("kernel", kinds=("how",), folder=tmp_path) == given_questions
    with pytest.raises(SetError, match="no questions"):
        read_sets("kernel", (KEPT,), folder=tmp_path)


@pytest.mark.parametrize("ids", [("a", "a"), ("a",)])
def test_a_set_that_cannot_be_scored_is_refused(tmp_path: Path, ids: tuple[str, ...]) -> None:
    item = {"query": "who", "kind": "how", "relevant": ["a.c"] if len(ids) > 1 else [], "secondary": []}
    (tmp_path / TUNED).mkdir()
    (tmp_path / TUNED / "kernel-x.json").write_text(json.dumps([{"id": each, **item} for each in ids]))

    with pytest.raises(SetError, match=r"twice|nothing is relevant"):
        read_sets("kernel", folder=tmp_path)


# --- scores ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "results", "place"),
    [
        (Target("port/pilot.c"), [WRONG, RIGHT], 2),
        (Target("port/pilot.c", 20, 20), [RIGHT], 1),
        (Target("port/pilot.c", 21, 21), [RIGHT], None),
        (Target("old/port/pilot.c"), [RIGHT], None),
        (Target("pilot.c"), [RIGHT], None),
    ],
)
def test_rank_is_that_of_the_first_result_in_the_exact_file_and_lines(
    target: Target, results: list[Result], place: int | None
) -> None:
    given_questions = evolve(question(), relevant=(target,))

    assert Answer(given_questions, tuple(results), 1.0).place == place


def test_shares_count_the_first_results_alone() -> None:
    answers = [Answer(question(), (*[WRONG] * before, RIGHT), 1.0) for before in (0, 1, 4, 5, 10)]

    figures = figures_of(answers)

    assert (figures["at_1"], figures["at_5"], figures["at_10"]) == (0.2, 0.6, 0.8)
    assert figures["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 5 + 1 / 6) / 5, abs=1e-4)


def test_secondary_files_count_apart() -> None:
    given_questions = evolve(question(), secondary=(Target("port/tug.c"),))

    figures = figures_of([Answer(given_questions, (WRONG,), 1.0)])

    assert (figures["at_5"], figures["at_5_with_secondary"]) == (0.0, 1.0)


def test_answers_are_grouped_by_kind_and_as_a_whole() -> None:
    given_questions = [question(), evolve(question(), kind="where"), evolve(question(), kind="type")]

    groups = grouped([Answer(each, (RIGHT,), 1.0) for each in given_questions])

    assert {name: figures["questions"] for name, figures in groups.items()} == {
        "kernel tuned ALL questions": 2,
        "kernel tuned ALL symbols": 1,
        "kernel tuned how": 1,
        "kernel tuned type": 1,
        "kernel tuned where": 1,
    }


def test_lines_have_earlier_results_and_later_runs_compare_with_them(tmp_path: Path) -> None:
    before = Answer(question(), (WRONG, RIGHT), 1.0)
    write_lines([before], tmp_path / "before.jsonl")
    (line,) = map(json.loads, (tmp_path / "before.jsonl").read_text().splitlines())
    assert (line["place"], line["before"], line["right"]) == (2, ["port/tug.c:1-9"], "port/pilot.c:10-20")

    shown = compared([evolve(before, results=(RIGHT,))], tmp_path / "before.jsonl")

    assert "@1 0.000 -> 1.000" in shown
    assert "2 -> 1" in shown
    assert "worse: 0" in shown


# --- samples --------------------------------------------------------------------------------------


def test_samples_are_even_over_folders_and_the_same_each_time() -> None:
    paths = [f"drivers/gpu/{number}.h" for number in range(500)] + ["fs/ext4/a.c", "mm/b.c"]

    drawn = sampling.evenly(paths, str, 6, random.Random(1))

    assert {"fs/ext4/a.c", "mm/b.c"} < set(drawn)
    assert len(set(drawn)) == 6
    assert drawn == sampling.evenly(paths, str, 6, random.Random(1))
    assert sorted(sampling.evenly(paths, str, 1000, random.Random(1))) == sorted(paths)


def test_files_of_a_folder_are_in_one_half() -> None:
    halves = {sampling.half_of(f"drivers/net/{name}") for name in ("a.c", "ethernet/b.c", "wireless/c/d.c")}
    assert len(halves) == 1
    assert {sampling.half_of(f"drivers/{number}/a.c") for number in range(40)} == {TUNED, KEPT}


def test_only_unique_names_become_questions() -> None:
    found = [
        Definition("berth_of", "function", "a.c", 1),
        Definition("moor_all", "function", "a.c", 3),
        Definition("moor_all", "function", "b.c", 3),
        Definition("RopeEnd", "macro", "a.c", 5),
        Definition("ropeend", "variable", "b.c", 5),
        Definition("quay", "struct", "a.c", 7),
        Definition("Mooring", "class", "Mooring.java", 1),
        Definition("Mooring", "method", "Mooring.java", 4),
        Definition("castOff", "method", "Mooring.java", 8),
        Definition("castOff", "method", "Mooring.java", 9),
    ]

    assert [each.name for each in symbols.defined_once(found)] == ["Mooring", "berth_of"]


def test_c_types_become_two_questions() -> None:
    drawn = [
        Definition("berth_plan", "struct", "port/berth.h", 4),
        Definition("moor_all", "function", "a.c", 1),
    ]

    given_questions = symbols.questions_of("kernel", drawn)

    assert [(each.query, each.kind) for each in given_questions] == [
        ("berth_plan", "symbol"),
        ("struct berth_plan", "type"),
        ("moor_all", "symbol"),
    ]
    assert given_questions[1].relevant == (Target("port/berth.h", 4, 4),)


@pytest.mark.skipif(shutil.which("ctags") is None, reason="needs Universal Ctags")
def test_declarations_are_no_definitions(tmp_path: Path) -> None:
    (tmp_path / "berth.h").write_text(
        "struct berth_plan;\nint moor_all(struct berth_plan *plan);\nstruct rope_end {\n\tint length;\n};\n"
    )

    assert [(each.name, each.line) for each in symbols.definitions("kernel", tmp_path)] == [("rope_end", 3)]


# --- doc comments ---------------------------------------------------------------------------------

KERNEL_DOC = """\
/**
 * berth_find - look for a free place along the
 *              northern quay. It may take long.
 * @ship: which ship
 *
 * Return: the number.
 */
int berth_find(int ship);

/**
 * struct rope - short one
 */
"""
JAVADOC = """\
/**
 * Decides which of several {@code Tug}s goes out to a ship. Never two.
 *
 * @since 1
 */
public abstract class Roster<T extends Tug> implements Plan {

    /** Roster of all the tugs that lie idle today. */
    int roster() { return 1; }
}
"""


@pytest.mark.parametrize(
    ("path", "text", "name", "sentence"),
    [
        ("port/berth.c", KERNEL_DOC, "berth_find", "look for a free place along the northern quay"),
        ("port/Roster.java", JAVADOC, "Roster", "Decides which of several Tug s goes out to a ship"),
    ],
)
def test_first_sentence_is_the_question_and_is_removed_by_line(
    path: str, text: str, name: str, sentence: str
) -> None:
    (found,) = doc_sentences.doc_sentences(path, text)
    assert (found.name, found.text) == (name, sentence)

    left = doc_sentences.without(text, [found])

    assert left.count("\n") == text.count("\n")
    assert not set(sentence.split()[-2:]) & set(left.split("*/")[0].split())
    assert name in left
    assert ("It may take long." in left) == ("It may take long." in text)


def test_file_that_is_not_utf8_keeps_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "old.c").write_bytes(b"/* J\xf6rg */\r\n")

    assert doc_sentences.encoded(doc_sentences.read_text(tmp_path / "old.c")) == b"/* J\xf6rg */\r\n"


def test_a_sentence_that_two_definitions_share_is_not_drawn(tmp_path: Path) -> None:
    for name in ("a.c", "b.c"):
        (tmp_path / name).write_text(KERNEL_DOC)
    assert doc_sentences.drawn("kernel", tmp_path, 10, 1) == []

    (tmp_path / "b.c").write_text(KERNEL_DOC.replace("northern", "southern"))
    assert {each.path for each in doc_sentences.drawn("kernel", tmp_path, 10, 1)} == {"a.c", "b.c"}


# --- copies, indexes and branches -----------------------------------------------------------------


def test_copy_shares_unchanged_files_and_the_index_is_reused(tmp_path: Path) -> None:
    tree, data = tmp_path / "tree", tmp_path / "data"
    (tree / "port").mkdir(parents=True)
    (tree / "port" / "berth.c").write_text("int berth_find(void)\n{\n\treturn quayside_of(1);\n}\n")
    (tree / "port" / "rope.c").write_text("int splice(void)\n{\n\treturn 2;\n}\n")
    data.mkdir()
    with Daemon(tree, data, {"embedding": {"enabled": False}}) as daemon:
        daemon.wait_until(all_files_indexed, PATIENCE_SECONDS)

    copy = tmp_path / "copy"
    linked_copy(tree, copy, {"port/rope.c": b"int unlay(void)\n{\n\treturn 2;\n}\n"})
    take_index(data, copy, tmp_path / "taken")
    with Daemon(copy, tmp_path / "taken", {"embedding": {"enabled": False}}) as daemon:
        daemon.wait_until(lambda _: bool(daemon.search("unlay")["results"]), PATIENCE_SECONDS)

    assert (tree / "port" / "rope.c").read_text().startswith("int splice")
    assert (copy / "port" / "berth.c").samefile(tree / "port" / "berth.c")
    given_questions = [question("port/rope.c", 1), evolve(question("port/anchor.c"), id="b")]
    unlay = evolve(given_questions[0], query="unlay")
    (answer,) = answers_in_process(tmp_path / "taken", [unlay], search_settings(None), vectors=False)
    assert answer.place == 1
    assert not_indexed(tmp_path / "taken", given_questions) == given_questions[1:]


def test_search_settings_are_laid_over_the_defaults() -> None:
    settings = search_settings('{"candidates": 7, "weights": {"path": 2}}')

    assert (settings.candidates, settings.weights) == (7, {"path": 2})
    assert settings.leg_deadline_ms > 60_000
    with pytest.raises(InvalidRequestError):
        search_settings('{"candidate": 7}')


def test_branches_differ_in_the_requested_number_of_files(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.c").write_text(f"int berth_{number};\n")
    (tmp_path / "notes.txt").write_text("ropes\n")

    soak.make_branches(tmp_path, frozenset({".c"}), 3, 1)

    switched = soak.switched_files(tmp_path)
    assert len(switched) == 3
    assert not any("branchword" in (tmp_path / path).read_text() for path in switched)
    soak.git(tmp_path, "checkout", "--quiet", "other")
    assert all(soak.word_of(path, switched) in (tmp_path / path).read_text() for path in switched)


@pytest.mark.parametrize(
    ("rss", "share"), [([100, 100, 100], 0.0), ([300, 100, 120], 0.2), ([1, 100, 50], -0.5), ([5, 6], 0.0)]
)
def test_growth_compares_the_last_third_with_the_middle_one(rss: list[float], share: float) -> None:
    assert soak.growth([{"rss_mb": each} for each in rss]) == pytest.approx(share)
