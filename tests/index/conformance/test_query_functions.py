"""The functions of `cairn.index.queries` find the same files, words, names and relations in any index."""

from __future__ import annotations

import numpy as np
import pytest
from tests.index.conformance.indexes import Subject
from tests.index.conformance.workspace import TEXTS

from cairn.errors import QueryCancelledError
from cairn.index.queries import file_queries, found_words, name_queries, relations
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.reader.filters import ChunkFilter
from cairn.index.store.deadline import ended_by
from cairn.languages.imports import Module

MOST = 100


# --- files ------------------------------------------------------------------------------------------


def test_files_are_found_by_words_of_their_paths(subject: Subject) -> None:
    def found(match: str, limit: int = MOST) -> list[str]:
        return file_queries.files_by_path(subject.reader, match, limit)

    assert set(found("berth")) == {"src/harbour/berth.py", "legacy/berth.py", "tests/test_berth.py"}
    assert set(found("winch OR ship")) >= {"native/winch.c", "native/winch.h", "fleet/ship/ship.go"}
    assert found("ship")[0] == "fleet/ship/ship.go"
    assert len(found("berth", 1)) == 1
    assert found("café") == ["src/harbour/café.py"] == found("cafe")
    assert found("nowhere") == []
    assert found("") == []
    assert found("chart") == []


def test_introducing_files_are_readmes_and_manifests(subject: Subject) -> None:
    manifests = ["pyproject.toml", "web/package.json", "nowhere"]
    found = file_queries.introducing_files(subject.reader, manifests, 5)
    assert found == ["README.md", "pyproject.toml", "web/package.json"]
    assert file_queries.introducing_files(subject.reader, [], 5) == ["README.md"]
    assert file_queries.introducing_files(subject.reader, ["pyproject.toml"], 0) == []


def test_files_are_found_by_their_names(subject: Subject) -> None:
    found = file_queries.files_called(subject.reader, {"berth", "LICENSE", "nowhere"})
    assert found == ["LICENSE", "legacy/berth.py", "src/harbour/berth.py", "web/LICENSE"]
    assert file_queries.files_called(subject.reader, set()) == []


def test_folders_contain_files_and_folders(subject: Subject) -> None:
    for path in ("src", "src/harbour", "src/harbour/berth.py", "data"):
        assert file_queries.has_below(subject.reader, path)
    for path in ("sr", "src/harbour/berth", "nowhere", ""):
        assert not file_queries.has_below(subject.reader, path)
    assert file_queries.names_in(subject.reader, "fleet") == ["go.mod", "main.go", "ship/"]
    top = {path.partition("/")[0] + "/" * ("/" in path) for path in TEXTS}
    assert file_queries.names_in(subject.reader, "") == sorted(top)
    assert file_queries.names_in(subject.reader, "nowhere") == []


def test_collections_are_counted_within_paths(subject: Subject) -> None:
    def counted(**only: tuple[str, ...]) -> dict[str, int]:
        found = file_queries.collections_within(subject.reader, ChunkFilter(**only))  # type: ignore[arg-type]
        return {each.name: each.chunks for each in found}

    assert counted(paths=("fleet/",)) == {"fleet-config": 1, "fleet-source": 2, "fleet-tests": 1}
    assert counted(paths=("*.go",)) == {"fleet-source": 2, "fleet-tests": 1}
    assert counted(paths=("nowhere/",)) == {}
    assert sum(counted().values()) == len(subject.ids)


def test_files_are_found_by_subjects_of_commits(subject: Subject) -> None:
    def found(match: str) -> dict[str, float]:
        return file_queries.files_by_subjects(subject.reader, match)

    assert set(found("snaps")) == {"native/winch.c", "native/winch.h"}
    assert all(score > 0 for score in found("snaps").values())
    assert set(found("heavy")) == {"src/harbour/crane.py", "src/harbour/berth.py"}
    assert found("nowhere") == found("") == {}


def test_in_degrees_count_importing_files(subject: Subject) -> None:
    counts = {"src/harbour/berth.py": 1, "src/harbour/crane.py": 2, "web/src/crane.ts": 1, "README.md": 0}
    assert file_queries.in_degrees(subject.reader, [*counts, "nowhere"]) == {**counts, "nowhere": 0}
    assert file_queries.in_degrees(subject.reader, []) == {}


def test_copies_know_their_original(subject: Subject) -> None:
    assert file_queries.copies_among(subject.reader, list(TEXTS)) == {
        "legacy/routes.py": ("src/routes.py", 1.0)
    }
    assert file_queries.copies_among(subject.reader, ["src/routes.py", "nowhere"]) == {}
    assert file_queries.copies_among(subject.reader, []) == {}


def test_file_ids_are_those_of_the_columns(subject: Subject) -> None:
    ids = file_queries.file_ids(subject.reader, ["LICENSE", "nowhere", "README.md"])
    assert set(ids) == {"LICENSE", "README.md"}
    chunk = np.array([subject.ids["README.md", 2]])
    assert subject.reader.columns().files_of(chunk).tolist() == [ids["README.md"]]


def test_readmes_match_in_any_case(subject: Subject) -> None:
    found = file_queries.readme_paths(subject.reader, ["readme*", "LICENSE"])
    assert found == ["LICENSE", "README.md", "web/LICENSE"]
    assert file_queries.readme_paths(subject.reader, []) == []


def test_the_best_files_have_the_highest_scores() -> None:
    assert file_queries.best_by_file({"b": 1.0, "a": 1.0, "c": 2.0}, 2) == ["c", "a"]


# --- words ------------------------------------------------------------------------------------------


def vocabulary(subject: Subject) -> IndexVocabulary:
    return IndexVocabulary([subject.reader])


def test_unknown_words_are_in_no_inflection(subject: Subject) -> None:
    assert vocabulary(subject).unknown(["docking", "cranes", "berht", "ipynb", "berth"]) == {"berht"}
    assert vocabulary(subject).unknown([]) == frozenset()


def test_documents_count_words_in_any_inflection(subject: Subject) -> None:
    counts = {"shallow": 3, "draughts": 5, "naïve": 1, "nowhere": 0}
    assert vocabulary(subject).documents(list(counts)) == counts


def test_the_vocabulary_knows_its_index(subject: Subject) -> None:
    assert vocabulary(subject).chunks() == len(subject.ids)
    assert vocabulary(subject).main_collection == "harbour-docs"


def test_found_words_score_chunks(subject: Subject) -> None:
    found = found_words.find_words(subject.reader, [["shallow"], ["crane", "cranes"], ["nowhere"]], 10_000)
    best = found.best(5)
    assert subject.paths(best[:3]) == {"src/harbour/berth.py", "legacy/berth.py", "README.md"}
    scores = found.scores(best)
    assert (scores > 0).all()
    assert (np.diff(scores) <= 1e-6).all()
    allowed = sorted(subject.ids[path, 0] for path in ("web/src/crane.ts", "LICENSE", "docs/guide.md"))
    assert subject.places(found.best(5, np.array(allowed))) == [("web/src/crane.ts", 0)]
    assert len(found.best(0)) == 0
    crane, readme = (subject.ids[path, 0] for path in ("src/harbour/crane.py", "README.md"))
    named = found.scores_by_names(np.array([crane, readme]))
    assert named[0] > named[1] == 0


def test_rare_words_are_found_first(subject: Subject) -> None:
    found = found_words.find_words(subject.reader, [["ship"], ["shallow"], ["nowhere"]], 4)
    assert [word.place for word in found.words] == [2, 1]
    assert found_words.find_words(subject.reader, [], 4).words == []


def test_weighted_words_are_ordered_by_weighted_idf(subject: Subject) -> None:
    wanted = [["pilot"], ["shallow"], ["nowhere"]]
    found = found_words.find_words(subject.reader, wanted, 1_000, [1.0, 2.0, 1.0])
    assert sorted(word.place for word in found.words) == [0, 1, 2]
    assert found.words[1].place == 1


def test_passing_chunks_pass_the_filter(subject: Subject) -> None:
    assert found_words.passing_chunks(subject.reader, ChunkFilter()) is None
    found = found_words.passing_chunks(subject.reader, ChunkFilter(languages=("c",)))
    assert found is not None
    assert subject.paths(found) == {"native/winch.c", "native/winch.h"}


# --- relations --------------------------------------------------------------------------------------


def test_passages_have_the_mean_of_their_vectors(subject: Subject) -> None:
    one = subject.ids["README.md", 0]
    _, rows = subject.reader.static_vectors([one])
    found = relations.passage_vector(subject.reader, [one])
    assert found.static_table == subject.reader.static_table()
    assert found.static is not None
    assert np.abs(found.static.astype(int) - rows[0]).max() <= 1
    both = relations.passage_vector(subject.reader, [one, subject.ids["LICENSE", 0]])
    assert both.static is not None
    assert np.linalg.norm(both.static.astype(float)) == pytest.approx(127, abs=2)
    assert relations.passage_vector(subject.reader, [10_000_000]).static is None


def test_spread_ids_come_from_all_parts(subject: Subject) -> None:
    found = relations.spread_ids(subject.reader, 5)
    assert len(found) == 5
    assert found == sorted(set(found))
    assert found[-1] <= subject.reader.columns().upto


def test_files_of_one_stem_belong_together(subject: Subject) -> None:
    for path, others in {
        "native/winch.c": ["native/winch.h"],
        "src/harbour/berth.py": ["legacy/berth.py", "tests/test_berth.py"],
        "fleet/ship/ship.go": ["fleet/ship/ship_test.go"],
        "README.md": [],
        "nowhere/tide.js": ["src/harbour/tide.py"],
    }.items():
        assert relations.same_stem(subject.reader, path) == others


def test_imports_are_known_both_ways(subject: Subject) -> None:
    imported, importers = relations.imports_around(subject.reader, "src/harbour/berth.py")
    assert {"src/harbour/crane.py", "src/harbour/tide.py"} <= imported
    assert importers == ("tests/test_berth.py",)
    for path, files_importing in {
        "src/harbour/tide.py": ("legacy/berth.py", "src/harbour/berth.py"),
        "web/src/crane.ts": ("web/src/client.ts",),
        "native/winch.h": ("native/winch.c",),
        "nowhere": (),
    }.items():
        assert relations.importers_of(subject.reader, path) == files_importing
    resolve = relations.import_resolver(subject.reader)
    assert resolve("web/src/client.ts", Module("js", "./crane")) == ("web/src/crane.ts",)
    assert resolve("web/src/client.ts", Module("js", "./nowhere")) == ()


def test_files_changed_together_are_known(subject: Subject) -> None:
    def together(path: str) -> dict[str, float]:
        return relations.changed_together(subject.reader, path)

    assert together("native/winch.c") == {"native/winch.h": pytest.approx(1.0)}
    assert set(together("src/harbour/crane.py")) == {"src/harbour/berth.py"}
    assert 0 < together("src/harbour/crane.py")["src/harbour/berth.py"] < 1
    assert together("README.md") == together("nowhere") == {}


# --- symbols ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("letters", "first"),
    [
        ("winch", ["winch", "WINCH_MAX", "winch_pull", "winch_release"]),
        ("fetchti", ["fetchTide"]),
        ("fb", ["free_berths"]),
        ("tidelevel", ["tide_level"]),
        ("hrbclnt", ["HarbourClient"]),
        ("nowhere", []),
        ("", []),
    ],
)
def test_names_resemble_letters(subject: Subject, letters: str, first: list[str]) -> None:
    found = name_queries.names_like(subject.reader, letters)
    assert [name.lower() for name in found[: len(first) or 1]] == [name.lower() for name in first]


def test_important_names_come_from_imported_files(subject: Subject) -> None:
    found = name_queries.important_names(subject.reader, 3)
    assert len(found) == 3
    assert found[0].path in ("src/harbour/crane.py", "src/harbour/tide.py")
    assert name_queries.important_names(subject.reader, 0) == []


# --- cancellation -----------------------------------------------------------------------------------


def test_cancelled_queries_raise_or_are_complete(subject: Subject) -> None:
    """Cancel each query. A small index answers before SQLite checks the flag; no answer may be incomplete."""
    reader = subject.reader
    queries = [
        lambda: file_queries.files_by_path(reader, "berth OR ship", MOST),
        lambda: file_queries.files_at(reader, ["ship"], MOST),
        lambda: sorted(file_queries.files_by_subjects(reader, "winch")),
        lambda: name_queries.names_like(reader, "tide"),
        lambda: name_queries.defining(reader, ["handler"]),
        lambda: reader.word_counts(["berth", "ship"], MOST),
        lambda: [len(each.ids) for _, each in sorted(reader.postings({"berth": 0, "ship": 0}).items())],
        lambda: reader.statistics(["berth", "ship"]),
        lambda: reader.symbols_with_words(["Crane"], MOST),
        lambda: np.asarray(reader.admitted(ChunkFilter(types=("code",)))).tolist(),
        lambda: found_words.find_words(
            reader, [["berth"], ["ship"]], MOST
        ).best(5).tolist(),
    ]  # fmt: skip
    for ask in queries:
        whole = ask()
        try:
            with ended_by(lambda: True):
                assert ask() == whole
        except QueryCancelledError:
            continue
