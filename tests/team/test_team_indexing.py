"""Indexing for a team: a snapshot equals an index of its checkout, and stored files are not read again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any

import psycopg
import pytest
from tests.git_repository import GitRepository
from tests.harbour import HARBOUR
from tests.team.git_repositories import (
    assert_equal_to_checkout,
    bulk_counts,
    count,
    harbour,
    index,
    many_files,
    snapshot_reader,
)

from cairn.errors import InvalidRequestError, TeamError
from cairn.settings.layers import Layers
from cairn.team.runs import repository_lock


def test_first_index_equals_that_of_a_checkout(store: str, repository: GitRepository, tmp_path: Path) -> None:
    repository.write(
        {
            "src/harbour/logo.png": b"\x89PNG\0\0",
            "data/tides.dat2": b"tides\0" * 100,
            "data/huge.txt": "tide table\n" * 200_000,
            "src/harbour/copy.py": HARBOUR["src/harbour/berths.py"],
            ".gitignore": "ignored/\n",
            "ignored/kept.py": "def tracked_all_the_same(): pass\n",
            ".cairnignore": "secret_plans/\n",
            "secret_plans/plan.md": "# Plans\n",
            "node_modules/left/index.js": "out()\n",
            "latin.txt": "Käpt’n".encode("cp1252"),
            "windows.py": "def crlf():\r\n    return 1\r\n",
            "empty.py": "",
        }
    )
    repository.git("add", "--force", "ignored/kept.py")
    repository.commit("More berths of all kinds")
    found = index(store, repository)
    assert (found.ref, found.files, found.files_read) == ("main", 14, 14)
    assert found.chunks_new == found.embedded > 10
    content = assert_equal_to_checkout(store, repository, "main", tmp_path)
    assert content["symbols"]["moor_ship"]
    assert content["postings"]["berth"]
    assert content["imports"]
    assert content["copies"]
    assert len(content["history"]) == 13
    assert "ignored/kept.py" in content["pages"]
    assert not {"secret_plans/plan.md", "data/huge.txt", "src/harbour/logo.png"} & content["pages"].keys()


def test_next_commit_reads_only_changed_files(store: str, repository: GitRepository, tmp_path: Path) -> None:
    index(store, repository)
    repository.write({"src/harbour/tides.py": HARBOUR["src/harbour/tides.py"] + "\n\nLOW = 1\n"})
    repository.git("mv", "src/harbour/schedule.py", "src/harbour/plan.py")
    repository.git("rm", "--quiet", "tests/test_berths.py")
    repository.write({"src/harbour/cranes.py": "def new_harbour(crane):\n    return crane.lift()\n"})
    repository.commit("Cranes for berths")
    found = index(store, repository)
    assert (found.files, found.files_read) == (6, 3)
    assert found.embedded == found.chunks_new == 3
    assert_equal_to_checkout(store, repository, "main", tmp_path)


MANIFEST = {"cranes/pyproject.toml": '[project]\nname = "cranes"\n'}


@pytest.mark.parametrize(
    ("first", "then", "files", "read"),
    [
        ({"cranes/a.py": "A = 1\n", "cranes/b.py": "B = 1\n"}, MANIFEST, 9, 3),
        ({"plans/secret.md": "# Plans\n", ".cairnignore": "plans/\n"}, {".cairnignore": "src/\n"}, 5, 2),
        ({"levels.raw": b"a\0b"}, {"levels.raw": b"\0longer\0\1b"}, 7, 1),
        ({"levels.raw": b"a\0b"}, {}, 7, 0),
        ({"README.md": "# Port\n"}, {"README.md": HARBOUR["README.md"]}, 6, 0),
    ],
    ids=["new manifest changes collections", "ignore file", "binary file", "no change", "reverted file"],
)  # fmt: skip
def test_next_commit_changes_rules_or_binary_files(
    store: str, repository: GitRepository, tmp_path: Path, first: Any, then: Any, files: int, read: int
) -> None:
    index(store, repository)
    for written in (first, then):
        repository.commit("Berths", written)
        found = index(store, repository)
    assert (found.is_new, found.files, found.files_read) == (True, files, read)
    assert_equal_to_checkout(store, repository, "main", tmp_path)


def test_text_in_any_encoding_is_indexed_as_in_a_checkout(
    store: str, repository: GitRepository, tmp_path: Path
) -> None:
    code = "// {}\nint {}() {{ return 0; }}\n"
    boats = {
        "src/ferry.cpp": code.format("渡し船を岸につなぐ", "moor_ferry").encode("cp932"),
        "src/barge.cpp": code.format("Закрыть соединение", "moor_barge").encode("koi8_r"),
        "src/punt.cpp": code.format("größer", "moor_punt").encode("utf-16-le"),
        "src/raft.py": "END = '\0'\n\n\ndef moor_raft():\n    return '\0'\n",
    }
    repository.commit("Boats of many encodings", boats)
    index(store, repository)
    content = assert_equal_to_checkout(store, repository, "main", tmp_path)
    assert all(content["pages"][path] for path in boats)


def test_same_commit_is_not_indexed_again(store: str, repository: GitRepository) -> None:
    first = index(store, repository)
    before = bulk_counts(store)
    repository.git("tag", "v1")
    again = index(store, repository, "v1")
    assert (again.is_new, again.files_read, again.snapshot) == (False, 0, first.snapshot)
    assert bulk_counts(store) == before
    assert count(store, "SELECT count(*) FROM cairn.refs") == 2


def test_other_settings_index_the_same_commit_again(store: str, repository: GitRepository) -> None:
    first = index(store, repository)
    fewer = Layers({"index": {"exclude": ["tests/"]}})
    found = index(store, repository, layers=fewer)
    assert (found.is_new, found.files, found.files_read) == (True, first.files - 1, 0)
    assert found.snapshot != first.snapshot  # Servers cache data by the snapshot's id.


def test_vectors_of_another_recipe_are_refused(store: str, repository: GitRepository) -> None:
    index(store, repository)
    repository.write({"a.py": "def new_harbour(): pass\n"})
    repository.commit("More")
    before = bulk_counts(store)
    with pytest.raises(TeamError, match="same settings"):
        index(store, repository, layers=Layers({"embedding": {"codeTokens": 32}}))
    assert bulk_counts(store) == before


def test_settings_file_of_the_commit_counts(store: str, repository: GitRepository, tmp_path: Path) -> None:
    repository.write(
        {".cairn.toml": '[index]\nexclude = ["tests/"]\n\n[index.collections]\nall-tides = ["*tides*"]\n'}
    )
    repository.commit("Settings")
    index(store, repository)
    content = assert_equal_to_checkout(store, repository, "main", tmp_path)
    assert "tests/test_berths.py" not in content["pages"]
    assert {row[5] for row in content["files"]} >= {"all-tides", "harbour-source"}


def test_fork_shares_files_and_has_its_own_lists(
    store: str, repository: GitRepository, tmp_path: Path
) -> None:
    index(store, repository)
    repository.write({"src/harbour/secret.py": "def upstream_only(): pass\n"})
    repository.commit("Upstream goes on")
    index(store, repository)
    fork = repository.clone(tmp_path / "my-harbour")
    fork.git("reset", "--quiet", "--hard", "HEAD~1")
    fork.write({"src/harbour/tides.py": "def new_harbour():\n    return 'spring tide'\n"})
    fork.commit("Spring tides at all berths")
    found = index(store, fork, name="ada/my-harbour")
    assert (found.files, found.files_read, found.embedded) == (6, 1, 1)
    assert count(store, "SELECT count(*) FROM cairn.pools") == 1
    assert count(store, "SELECT count(DISTINCT repository) FROM cairn.segments") == 2
    content = assert_equal_to_checkout(store, fork, "main", tmp_path, "ada/my-harbour")
    assert "src/harbour/secret.py" not in content["pages"]
    with snapshot_reader(store, "ada/my-harbour", "main") as reader:
        # This is the name in its own manifest.
        assert {each.name.rpartition("-")[0] for each in reader.stats().collections} == {"harbour"}
    assert_equal_to_checkout(store, repository, "main", tmp_path)
    commits = """SELECT count(*) FROM cairn.snapshot_parts p JOIN cairn.repositories r ON r.id = p.repository
        WHERE r.name = 'ada/my-harbour' AND p.name = 'commits'"""
    assert count(store, commits) == 1


def test_unrelated_repositories_share_nothing(store: str, repository: GitRepository, tmp_path: Path) -> None:
    index(store, repository)
    other = harbour(tmp_path / "other")
    other.write({"a.py": "A = 1\n"})
    other.git("commit", "--quiet", "--amend", "-m", "Another beginning")
    assert index(store, other).files_read == 6
    assert count(store, "SELECT count(*) FROM cairn.pools") == 2


def test_many_segments_are_merged(
    store: str, repository: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cairn.index.postgres.lists.MOST_SEGMENTS", 4)
    for number in range(6):
        repository.write({"src/harbour/log.py": f"def entry_{number}():\n    return {number}\n"})
        repository.commit(f"Entry {number}")
        index(store, repository)
    assert count(store, "SELECT count(*) FROM cairn.segments") == 2
    assert count(store, "SELECT count(*) FROM cairn.retired_lists") == 5
    assert_equal_to_checkout(store, repository, "main", tmp_path)


def test_many_files_are_read_by_workers(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cairn.team.snapshot._WORTH_WORKERS_BYTES", 1_000)
    repository = GitRepository(tmp_path / "harbour", many_files(100))
    found = index(store, repository)
    assert found.files == found.files_read == 100
    assert found.embedded == found.chunks_new >= 100
    assert_equal_to_checkout(store, repository, "main", tmp_path)


def test_shallow_clone_has_no_root_commits(store: str, repository: GitRepository, tmp_path: Path) -> None:
    repository.write({"a.py": "def new_harbour(): pass\n"})
    repository.commit("Later berths")
    shallow = tmp_path / "shallow" / "harbour"
    repository.git("clone", "--quiet", "--depth=1", f"file://{repository.folder}", str(shallow))
    index(store, shallow)
    assert count(store, "SELECT cardinality(roots) FROM cairn.repositories") == 0
    assert not index(store, repository).is_new
    repository.commit("Nothing")
    assert index(store, repository).files_read == 0
    assert count(store, "SELECT cardinality(roots) FROM cairn.repositories") == 1


def test_repository_of_long_hashes_is_indexed(store: str, tmp_path: Path) -> None:
    repository = GitRepository(tmp_path / "harbour", options=["--object-format=sha256"])
    assert len(repository.commit("First berths", HARBOUR)) == 64
    assert index(store, repository).files_read == 6
    repository.write({"a.py": "A = 1\n"})
    repository.commit("More berths")
    assert index(store, repository).files_read == 1
    assert_equal_to_checkout(store, repository, "main", tmp_path)


def test_clone_url_is_fetched_and_later_updated(
    store: str, repository: GitRepository, tmp_path: Path, bare_data_dir: Path
) -> None:
    url = f"file://{repository.folder}"
    messages: list[str] = []
    first = index(store, url, progress=messages.append)
    assert first.repository == "harbour"
    assert any(text.startswith("Cloning") for text in messages)
    repository.git("checkout", "--quiet", "-b", "next")
    repository.write({"a.py": "def new_harbour(): pass\n"})
    repository.commit("Next berths")
    found = index(store, url, progress=messages.append)
    assert (found.ref, found.files_read) == ("next", 1)
    assert any(text.startswith("Fetching") for text in messages)
    assert_equal_to_checkout(store, repository, "next", tmp_path)
    (clone,) = (bare_data_dir / "team" / "clones").glob("*.git")
    (clone / "packed-refs.lock").touch()
    (clone / "refs" / "heads").mkdir(parents=True, exist_ok=True)
    (clone / "refs" / "heads" / "next.lock").touch()
    repository.commit("After a crash")
    assert index(store, url).is_new


def test_remote_with_a_detached_head_is_indexed_at_its_head(store: str, repository: GitRepository) -> None:
    repository.git("checkout", "--quiet", "--detach")
    head = repository.git("rev-parse", "HEAD")
    # Any clone has this ref, which git lists as well.
    repository.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/next")
    for _ in range(2):
        found = index(store, f"file://{repository.folder}")
        assert (found.ref, found.commit) == ("HEAD", head)


def test_bare_folders_and_worktrees_are_indexed_and_stay_unchanged(
    store: str, repository: GitRepository, tmp_path: Path
) -> None:
    bare, tree = tmp_path / "bare" / "harbour.git", tmp_path / "tree"
    repository.git("clone", "--quiet", "--bare", str(repository.folder), str(bare))
    repository.git("worktree", "add", "--quiet", "-b", "side", str(tree))
    GitRepository(tree).write({"side.py": "def side(): pass\n"})
    GitRepository(tree).commit("Side")
    before = _listing(repository.folder), _listing(bare)
    assert index(store, bare).ref == "main"
    found = index(store, tree, name="harbour")
    assert (found.ref, found.files_read) == ("side", 1)
    assert (_listing(repository.folder), _listing(bare)) == before


def _listing(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in folder.rglob("*")
    }


def test_unknown_ref_lists_branches_and_tags(store: str, repository: GitRepository) -> None:
    repository.git("tag", "v1")
    with pytest.raises(InvalidRequestError, match=r"nowhere is not there.*main, v1"):
        index(store, repository, "nowhere")
    for hostile in ("--upload-pack=touch x", "main\nHEAD", "HEAD^{tree}"):
        with pytest.raises(InvalidRequestError, match="not the name"):
            index(store, repository, hostile)
    head = repository.git("rev-parse", "HEAD")
    assert index(store, repository, head[:10]).ref == head


def test_repository_of_another_history_may_not_take_a_name(
    store: str, repository: GitRepository, tmp_path: Path
) -> None:
    index(store, repository)
    other = GitRepository(tmp_path / "elsewhere" / "harbour", {"a.py": "A = 1\n"})
    with pytest.raises(InvalidRequestError, match=r"--name"):
        index(store, other)


def test_repository_without_commits_says_so(store: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidRequestError, match="git init"):
        index(store, tmp_path / "empty")
    GitRepository(tmp_path / "empty")
    with pytest.raises(InvalidRequestError, match="no branch yet"):
        index(store, tmp_path / "empty")


def test_links_submodules_and_hostile_names_are_left_out(
    store: str, repository: GitRepository, tmp_path: Path
) -> None:
    (repository.folder / "link.py").symlink_to("/etc/passwd")
    head = repository.commit("A link")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{head},module")
    blob = repository.git("hash-object", "-w", "README.md")
    listed = repository.git("ls-tree", repository.git("write-tree"))
    names = ("..", ".GIT", r'"\377.md"', r"back\slash.md", "git~1")
    hostile = [f"100644 blob {blob}\t{name}" for name in names]
    made = repository.git("mktree", given="\n".join([listed, *hostile, ""]).encode())
    commit = repository.git("commit-tree", made, "-p", "HEAD", "-m", "Hostile")
    repository.git("update-ref", "refs/heads/hostile", commit)
    found = index(store, repository, "hostile")
    assert found.files == 7
    assert sorted(found.problems) == ["..", ".GIT", r"\xff.md", "git~1"]


def test_partial_clone_says_what_it_lacks(store: str, repository: GitRepository, tmp_path: Path) -> None:
    repository.git("config", "uploadpack.allowFilter", "true")
    url, partial = f"file://{repository.folder}", tmp_path / "partial"
    repository.git("clone", "--quiet", "--no-checkout", "--filter=blob:none", url, str(partial))
    with pytest.raises(TeamError, match="partial clone"):
        index(store, partial)
    assert bulk_counts(store)["snapshots"] == 0


def test_commit_of_too_many_files_is_refused(
    store: str, repository: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cairn.workspace.repository.MOST_FILES", 2)
    with pytest.raises(InvalidRequestError, match="the commit has over"):
        index(store, repository)


def test_next_snapshot_leaves_the_row_of_its_repository(store: str, repository: GitRepository) -> None:
    version = "SELECT xmin::text::int FROM cairn.repositories"
    index(store, repository)
    before = count(store, version)
    repository.commit("More", {"a.py": "def new_harbour(): pass\n"})
    assert index(store, repository).is_new
    assert count(store, version) == before


def test_runs_of_one_repository_wait_for_each_other(store: str, repository: GitRepository) -> None:
    messages: Queue[str] = Queue()
    with psycopg.connect(store, autocommit=True) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (repository_lock("harbour"),))
        run = pool.submit(index, store, repository, progress=messages.put)
        assert "waits" in messages.get(timeout=20)
        assert not run.done()
        other.execute("SELECT pg_advisory_unlock_all()")
        assert run.result().is_new


def test_runs_at_once_give_one_snapshot_each(store: str, tmp_path: Path) -> None:
    repositories = [
        harbour(tmp_path / f"port-{number}", **{"own.py": f"N = {number}\n"}) for number in range(2)
    ]
    jobs = [repositories[0], repositories[0], repositories[1], repositories[0]]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda each: index(store, each), jobs))
    assert sum(result.is_new for result in results) == 2
    assert count(store, "SELECT count(*) FROM cairn.snapshots") == 2
    for number, repository in enumerate(repositories):
        assert_equal_to_checkout(store, repository, "main", tmp_path, f"port-{number}")


def test_new_forks_at_once_share_a_pool(store: str, repository: GitRepository, tmp_path: Path) -> None:
    forks = [repository.clone(tmp_path / f"fork-{number}") for number in range(3)]
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda each: index(store, each, name=each.folder.name), forks))
    assert sorted(result.files_read for result in results) == [0, 0, 6]
    assert count(store, "SELECT count(*) FROM cairn.pools") == 1
    assert count(store, "SELECT count(*) FROM cairn.files") == 6
