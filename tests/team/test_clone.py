"""A clone of an indexed repository: the team's server answers, local changes win, and it works without."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ask
from tests.git_repository import GitRepository
from tests.serving import wait_for
from tests.team.shared_town import Town
from tests.team.team_server import team_serving

from cairn.__main__ import main
from cairn.embedding.static import StaticTable
from cairn.engine.engine import Engine
from cairn.errors import InvalidRequestError
from cairn.index.remote import clone as team_clone
from cairn.index.remote.team_server import Located, TeamServer
from cairn.paths import data_dir, workspace_dir

_TIDES = "src/harbour/tides.py"


@pytest.fixture
def member(town: Town, bare_data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Town:
    """Give this process the settings and the machine of a team's member."""
    monkeypatch.setenv("CAIRN_TEAM__URL", town.url)
    monkeypatch.setenv("CAIRN_TEAM_TOKEN", town.ada)
    monkeypatch.setattr(team_clone, "_RETRY_SECONDS", (0.05, 0.1))
    return town


@pytest.fixture
def clone(town: Town, tmp_path: Path) -> GitRepository:
    return town.harbour.clone(tmp_path / "harbour")


@contextmanager
def opened(folder: Path) -> Iterator[Engine]:
    engine = Engine({"search": {"legDeadlineMs": 120_000}})
    try:
        engine.add_folder(folder)
        yield engine
    finally:
        engine.stop()


@contextmanager
def shared(folder: Path) -> Iterator[Engine]:
    """Open a folder that the team's index answers."""
    with opened(folder) as engine:
        wait_for(lambda: engine.folders[0].revision or engine.folders[0].remark)
        assert not engine.folders[0].remark
        yield engine


@contextmanager
def alone(folder: Path) -> Iterator[str]:
    """Open a folder that is indexed here, and yield the warnings of its status."""
    with opened(folder) as engine:
        wait_for(lambda: engine.folders[0].remark)
        wait_for(
            lambda: ask(engine, "status", {}).state in ("ready", "degraded") and engine.progress().complete
        )
        assert engine.folders[0].revision is None
        assert ask(engine, "search", {"query": "moor a ship"}).index.revisions == ()
        warnings = " ".join(ask(engine, "status", {}).warnings)
        assert found(engine, "moor a ship")[0] == "src/harbour/berths.py"
        yield warnings


def found(engine: Engine, query: str) -> list[str]:
    return [result.path for result in ask(engine, "search", {"query": query}).results]


def matched(engine: Engine, word: str) -> set[str]:
    """Return the files whose snippets contain the word."""
    results = ask(engine, "search", {"query": f'"{word}"'}).results
    return {result.path for result in results if word in result.snippet}


def has_index(folder: Path) -> bool:
    return any(workspace_dir(folder).glob("*.db"))


def watched(engine: Engine) -> None:
    """Wait for the first report of a changed file."""
    sharing: Any = engine.folders[0].sharing
    watching, report = [], sharing.changed
    sharing._watcher._on_changes = lambda paths: (watching.append(paths), report(paths))
    probe = engine.folders[0].root / "probe.tmp"

    def is_reported() -> bool:
        probe.write_text("probe")
        return bool(watching)

    wait_for(is_reported)
    probe.unlink()


# --- what is shared ------------------------------------------------------------------------------------


def test_fresh_clone_is_searched_by_meaning_without_its_own_index(
    member: Town, clone: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded: list[str] = []
    embed = StaticTable.embed_int8

    def recording(table: StaticTable, texts: list[str], *how: Any) -> Any:
        embedded.extend(texts)
        return embed(table, texts, *how)

    monkeypatch.setattr(StaticTable, "embed_int8", recording)
    with shared(clone.folder) as engine:
        answer = ask(engine, "search", {"query": "when is the water of the sea at its highest"})
        assert answer.results[0].path == _TIDES
        assert answer.results[0].source in ("embedding", "hybrid")
        assert answer.results[0].uri == (clone.folder / _TIDES).as_uri()
        (revision,) = answer.index.revisions
        assert (revision.repository, revision.ref, revision.behind) == ("harbour", "main", 0)
        assert revision.commit == clone.git("rev-parse", "HEAD")
        status = ask(engine, "status", {})
        assert (status.state, status.warnings, status.files.indexed) == ("ready", (), 6)
        assert found(engine, "moor a ship")[0] == "src/harbour/berths.py"
        assert embedded == []
        engine.document_changed(clone.folder / _TIDES, "def ebb(day):\n    return day\n")
        assert found(engine, "ebb")[0] == _TIDES
        assert len(embedded) == 1, "which shows that this counts texts"
    assert not has_index(clone.folder)


def test_every_method_answers_as_with_an_index_of_the_clone(
    member: Town, clone: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = {
        "textDocument": {"uri": (clone.folder / "src/harbour/berths.py").as_uri()},
        "range": {"start": {"line": 11, "character": 0}, "end": {"line": 11, "character": 0}},
    }

    def results(answer: Any) -> Any:
        return [(each.path, each.range, each.score) for each in answer.results]

    requests: list[tuple[str, Any, Callable[[Any], Any]]] = [
        ("search", {"query": "moor a ship"}, results),
        ("search", {"query": '"berth is taken"'}, results),
        ("search", {"query": "berth", "filter": {"path": ["src/**/*.py"]}}, results),
        ("search", {"query": "berth", "filter": {"type": ["prose"]}}, results),
        ("search", {"query": "moor_shp"}, results),
        ("discover", {"query": "how does mooring work"}, lambda a: a.answer_prompt),
        ("references", {"symbol": "moor_ship", "depth": 2}, lambda a: (a.definitions, a.references)),
        ("references", {"symbol": "moor_shipp"}, lambda a: a.message),
        ("related", place, lambda a: [(r.path, r.range) for r in a.results]),
        ("fetchPage", {"path": "README.md"}, lambda a: a.text),
        ("collections", {}, lambda a: [(c.name, c.files, c.chunks) for c in a]),
        ("workspace/symbol", {"query": "berth"}, lambda a: [(s.name, s.uri) for s in a]),
    ]

    def answers() -> list[Any]:
        return [part(ask(engine, name, params)) for name, params, part in requests]

    with shared(clone.folder) as engine:
        there = answers()
    monkeypatch.delenv("CAIRN_TEAM__URL")
    with opened(clone.folder) as engine:
        wait_for(lambda: engine.progress().complete)
        here = answers()
    for number, (one, other) in enumerate(zip(there, here, strict=True)):
        assert one == other, requests[number]


def test_later_commits_are_counted_and_their_files_read_here(member: Town, clone: GitRepository) -> None:
    clone.write({_TIDES: "def ebb_stream(day):\n    return day\n"})
    clone.commit("Ebb")
    clone.write({"src/harbour/pilots.py": "def guide_tanker(tanker):\n    return tanker\n"})
    clone.commit("Pilots")
    with shared(clone.folder) as engine:
        answer = ask(engine, "search", {"query": "guide_tanker"})
        assert answer.results[0].path == "src/harbour/pilots.py"
        (revision,) = answer.index.revisions
        commit = member.harbour.git("rev-parse", "main")
        assert (revision.behind, revision.commit) == (2, commit)
        behind = f"From the team's index: harbour, main at {commit[:8]}, 2 commits behind this folder."
        assert answer.index.source == behind
        assert matched(engine, "ebb_stream") == {_TIDES}
        assert not matched(engine, "high_water")
        clone.commit("A third, while it is open")  # It changes no file, so answers stay cached.
        wait_for(lambda: ask(engine, "search", {"query": "guide_tanker"}).index.revisions[0].behind == 3)
    assert not has_index(clone.folder)


def test_local_files_win_that_differ_when_the_clone_is_opened(member: Town, clone: GitRepository) -> None:
    clone.write({_TIDES: "def neap_tide():\n    return 'quarter_moon'\n", "docs/new.md": "# Fenders\n"})
    (clone.folder / "README.md").unlink()
    (clone.folder / "src/harbour/berths.py").rename(clone.folder / "src/harbour/moorings.py")
    with shared(clone.folder) as engine:
        assert matched(engine, "quarter_moon") == {_TIDES}
        assert not matched(engine, "constituents")
        assert found(engine, "Fenders")[0] == "docs/new.md"
        assert matched(engine, "berth is taken") == {"src/harbour/moorings.py"}
        query = {"query": "Harbour library that schedules ships", "limit": 50}
        assert "README.md" not in {result.path for result in ask(engine, "search", query).results}
        definitions = ask(engine, "references", {"symbol": "moor_ship"}).definitions
        assert {each.path for each in definitions} == {"src/harbour/moorings.py"}


def test_local_files_win_that_change_while_the_clone_is_open(member: Town, clone: GitRepository) -> None:
    with shared(clone.folder) as engine:
        watched(engine)
        clone.write({_TIDES: "def spring_tide():\n    return 'full_moon'\n"})
        wait_for(lambda: matched(engine, "full_moon") == {_TIDES})
        assert not matched(engine, "constituents")
        (clone.folder / "docs").mkdir()
        clone.write({"docs/new.md": "# Bollards\n"})
        wait_for(lambda: matched(engine, "Bollards") == {"docs/new.md"})
        (clone.folder / "README.md").unlink()
        wait_for(lambda: not matched(engine, "unloaded safely"))
        clone.git("checkout", "--quiet", "--", "README.md", _TIDES)
        wait_for(lambda: matched(engine, "unloaded safely") == {"README.md"})
        wait_for(lambda: matched(engine, "constituents") == {_TIDES})


def test_moved_and_removed_folders_are_followed(member: Town, clone: GitRepository, tmp_path: Path) -> None:
    with shared(clone.folder) as engine:
        watched(engine)
        (clone.folder / "src/harbour").rename(clone.folder / "src/port")
        wait_for(lambda: matched(engine, "berth is taken") == {"src/port/berths.py"})
        assert matched(engine, "constituents") == {"src/port/tides.py"}
        shutil.rmtree(clone.folder / "tests")
        wait_for(lambda: not matched(engine, "test_a_taken_berth_cannot_be_moored_at"))
        made = tmp_path / "made" / "deep"
        made.mkdir(parents=True)
        (made / "crane.py").write_text("def hoist_crate(crate):\n    return crate\n")
        (tmp_path / "made").rename(clone.folder / "cranes")
        wait_for(lambda: matched(engine, "hoist_crate") == {"cranes/deep/crane.py"})


def test_unsaved_text_wins_over_the_file_and_the_team(member: Town, clone: GitRepository) -> None:
    tides = clone.folder / _TIDES
    with shared(clone.folder) as engine:
        engine.document_opened(tides)
        engine.document_changed(tides, "def storm_surge():\n    return 'barometer'\n")
        assert matched(engine, "barometer") == {_TIDES}
        assert not matched(engine, "constituents")
        engine.document_closed(tides)
        assert matched(engine, "constituents") == {_TIDES}
        clone.write({_TIDES: "def on_disk():\n    return 'gauge'\n"})
        engine.changed(tides)
        engine.document_changed(tides, "def in_editor():\n    return 'barometer'\n")
        assert (matched(engine, "barometer"), matched(engine, "gauge")) == ({_TIDES}, set())
        engine.document_closed(tides)
        assert (matched(engine, "barometer"), matched(engine, "gauge")) == (set(), {_TIDES})


def test_ignored_and_secret_files_of_the_clone_stay_out(member: Town, clone: GitRepository) -> None:
    clone.write({".gitignore": "*.log\n", "run.log": "quaylog\n", ".env": "KEY=quaykey\n"})
    with shared(clone.folder) as engine:
        engine.changed(clone.folder / "run.log")
        assert not matched(engine, "quaylog")
        assert not matched(engine, "quaykey")


def test_files_excluded_only_here_are_not_shown(member: Town, clone: GitRepository) -> None:
    clone.write({".cairnignore": "tides.py\n", _TIDES: "def ebb():\n    return 'quaytide'\n"})
    with shared(clone.folder) as engine:
        assert not matched(engine, "constituents")
        assert not matched(engine, "quaytide")
        engine.changed(clone.folder / _TIDES)
        assert not matched(engine, "quaytide")
        clone.write({".cairnignore": "berths.py\n"})
        engine.changed(clone.folder / ".cairnignore")
        wait_for(lambda: not matched(engine, "berth is taken"))


def test_line_ends_of_windows_do_not_differ(member: Town, clone: GitRepository) -> None:
    text = (clone.folder / _TIDES).read_bytes()
    clone.write({_TIDES: text.replace(b"\n", b"\r\n")})
    with shared(clone.folder) as engine:
        sharing: Any = engine.folders[0].sharing
        assert sharing._shared.differing == 0
        assert matched(engine, "constituents") == {_TIDES}


def test_checkout_of_another_branch_is_followed(member: Town, clone: GitRepository) -> None:
    member.harbour.git("checkout", "--quiet", "-b", "sluices")
    member.harbour.write({"src/harbour/locks.py": "def open_sluice():\n    return 1\n"})
    commit = member.harbour.commit("Locks")
    member.harbour.git("checkout", "--quiet", "main")
    member.index(member.harbour, "sluices")
    with shared(clone.folder) as engine:
        assert not matched(engine, "open_sluice")
        clone.git("fetch", "--quiet")
        clone.git("checkout", "--quiet", "sluices")
        wait_for(lambda: engine.folders[0].revision and engine.folders[0].revision.commit == commit)
        assert matched(engine, "open_sluice") == {"src/harbour/locks.py"}
        (revision,) = ask(engine, "search", {"query": "open_sluice"}).index.revisions
        assert (revision.ref, revision.behind) == ("sluices", 0)
        clone.git("checkout", "--quiet", "main")
        wait_for(lambda: engine.folders[0].revision and engine.folders[0].revision.ref == "main")
        assert not matched(engine, "open_sluice")


def test_worktree_of_a_clone_is_shared_too(member: Town, clone: GitRepository, tmp_path: Path) -> None:
    clone.git("worktree", "add", "--quiet", str(tmp_path / "tree"), "-b", "other")
    with shared(tmp_path / "tree") as engine:
        assert found(engine, "moor a ship")[0] == "src/harbour/berths.py"


def test_commands_ask_the_team_and_make_no_index(
    member: Town, clone: GitRepository, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["cairn", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        return capsys.readouterr().out

    def run(*arguments: str) -> Any:
        return json.loads(printed(*arguments, "--json"))

    answer = run("search", "moor a ship", "-C", str(clone.folder))
    assert answer["results"][0]["path"] == "src/harbour/berths.py"
    assert answer["index"]["revisions"][0]["behind"] == 0
    assert "From the team's index: harbour, main at " in printed("search", "moor", "-C", str(clone.folder))
    for command in ("index", "status"):
        status = run(command, str(clone.folder))
        assert (status["state"], status["warnings"], status["chunks"]) == ("ready", [], 7)
    assert not has_index(clone.folder)
    monkeypatch.setenv("CAIRN_TEAM_TOKEN", "cairn_wrong")
    assert "`cairn team grant`" in " ".join(run("status", str(clone.folder))["warnings"])
    assert not has_index(clone.folder)


# --- the server goes and comes ---------------------------------------------------------------------------


def test_clone_is_indexed_here_while_the_server_is_gone(
    town: Town, member: Town, clone: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team_clone, "_LOOK_SECONDS", 3600.0)  # Only a failed request shows that it is gone.
    log = tmp_path / "log"
    with team_serving(town.store.server_url, log=log) as served:
        url, port = str(served.addresses["url"]), served.port
        monkeypatch.setenv("CAIRN_TEAM__URL", url)
        with shared(clone.folder) as engine:
            clone.write({_TIDES: "def bore_wave():\n    return 1\n"})
            engine.changed(clone.folder / _TIDES)
            assert matched(engine, "bore_wave") == {_TIDES}
            served.process.kill()
            served.process.wait()

            def is_indexed_here() -> bool:
                found(engine, "moor a ship")  # It must never raise.
                return not engine.folders[0].revision and engine.progress().complete

            wait_for(is_indexed_here)
            answer = ask(engine, "search", {"query": "moor a ship"})
            assert answer.results[0].path == "src/harbour/berths.py"
            assert answer.index.revisions == ()
            assert matched(engine, "bore_wave") == {_TIDES}
            (warning,) = ask(engine, "status", {}).warnings
            assert f"The team's server at {url} does not answer" in warning
            assert has_index(clone.folder)
            with team_serving(town.store.server_url, log=log, port=port):
                wait_for(lambda: engine.folders[0].revision)
                answer = ask(engine, "search", {"query": "moor a ship"})
                assert answer.results[0].path == "src/harbour/berths.py"
                assert answer.index.revisions[0].behind == 0
                assert matched(engine, "bore_wave") == {_TIDES}
                assert ask(engine, "status", {}).warnings == ()


# --- what is not shared --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "token", "warning"),
    [
        (None, "cairn_wrong", "`cairn team grant`"),
        ("http://127.0.0.1:1", None, "http://127.0.0.1:1 does not answer (Connection refused)"),
        ("https://ada:secret@cairn.example.org", None, "must be like https://cairn.example.org"),
        (None, "\u2603two\nlines-of-secret", "CAIRN_TEAM_TOKEN has something else in it"),
        (None, "", "there is no CAIRN_TEAM_TOKEN and no"),
    ],
)
def test_clone_with_wrong_settings_is_indexed_here_with_a_warning(
    member: Town,
    clone: GitRepository,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    url: str | None,
    token: str | None,
    warning: str,
) -> None:
    if url is not None:
        monkeypatch.setenv("CAIRN_TEAM__URL", url)
    if token is not None:
        monkeypatch.setenv("CAIRN_TEAM_TOKEN", token)
    with alone(clone.folder) as warnings:
        assert warning in warnings
        for secret in (token or member.ada, "secret"):
            assert not secret or secret not in warnings + caplog.text


def test_clone_with_very_many_changes_is_then_indexed_here(
    member: Town, clone: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team_clone, "_MOST_FILES", 5)
    with shared(clone.folder) as engine:
        notes = {f"docs/{number}.md": f"# Note {number}\n" for number in range(9)}
        clone.write(notes)
        for path in notes:
            engine.changed(clone.folder / path)
        wait_for(lambda: "9 files of harbour differ" in engine.folders[0].remark)
        wait_for(lambda: engine.progress().complete)
        assert found(engine, "Note 7")[0] == "docs/7.md"


def test_repository_that_is_hidden_from_the_reader_is_indexed_here(
    member: Town, clone: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_TEAM_TOKEN", member.store.owned.token("stranger"))
    with alone(clone.folder) as warnings:
        assert "The team has no index of harbour" in warnings


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("ftp://127.0.0.1", "must be like https://cairn.example.org"),
        ("https://ada:secret@cairn.example.org", "must be like https://cairn.example.org"),
        ("http://127.0.0.1:99999", "must be like https://cairn.example.org"),
        ("http://[", "must be like https://cairn.example.org"),
        ("cairn.example.org", "must be like https://cairn.example.org"),
        ("http://h\xe4fen.example.org", "must be like https://cairn.example.org"),
        ("http://cairn.example.org", "must begin with https:// for another machine"),
    ],
)
def test_url_that_is_invalid_or_not_encrypted_is_refused(url: str, problem: str) -> None:
    with pytest.raises(InvalidRequestError, match=problem) as refused:
        TeamServer(url, "token")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("git", "warning"),
    [
        ("none", "harbour is not the top of a git clone"),
        ("above", "harbour is not the top of a git clone"),
        ("no commit", "harbour has no commit yet"),
        ("unknown commit", "`cairn team index`"),
    ],
)
def test_folder_without_an_indexed_commit_is_indexed_here(
    member: Town, clone: GitRepository, git: str, warning: str
) -> None:
    shutil.rmtree(clone.folder / ".git")
    if git == "above":
        GitRepository(clone.folder.parent)
    elif git != "none":
        clone.git("init", "--quiet")
    if git == "unknown commit":
        clone.commit("Another beginning")
    with alone(clone.folder) as warnings:
        assert warning in warnings


def test_workspace_file_cannot_name_a_server(
    town: Town, clone: GitRepository, bare_data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_TEAM_TOKEN", town.ada)
    clone.write({".cairn.toml": f'[team]\nurl = "{town.url}"\n'})
    with opened(clone.folder) as engine:
        assert engine.folders[0].sharing is None
        wait_for(lambda: engine.progress().complete)
        assert ask(engine, "search", {"query": "moor a ship"}).index.revisions == ()
        assert any("team.url" in warning for warning in ask(engine, "status", {}).warnings)


def test_token_is_read_from_a_private_file(
    member: Town, clone: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CAIRN_TEAM_TOKEN")
    monkeypatch.setenv("CAIRN_CONFIG_DIR", str(tmp_path / "config"))
    file = tmp_path / "config" / "team-token"
    file.parent.mkdir()
    file.write_text(f"{member.ada}\n")
    file.chmod(0o640)
    with alone(clone.folder) as warnings:
        assert f"chmod 600 {file}" in warnings
        assert member.ada not in warnings
    file.chmod(0o600)
    with shared(clone.folder) as engine:
        assert found(engine, "moor a ship")[0] == "src/harbour/berths.py"
    file.write_text("\n")
    with alone(clone.folder) as warnings:
        assert f"{file} is empty" in warnings


# --- the cache of the team's index ------------------------------------------------------------------------


def test_cached_catalogue_is_used_and_a_damaged_one_replaced(member: Town, clone: GitRepository) -> None:
    with shared(clone.folder):
        pass
    (kept,) = (data_dir() / "team").iterdir()
    whole = kept.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"\0" * 100):
        kept.write_bytes(damaged)
        with shared(clone.folder) as engine:
            assert found(engine, "moor a ship")[0] == "src/harbour/berths.py"
        assert kept.read_bytes() == whole


def test_catalogue_of_another_database_at_the_same_address_is_not_used() -> None:
    indexes = [("http://one", "2026-01-02"), ("http://one", "2026-01-03"), ("http://two", "2026-01-02")]
    names = {
        team_clone._file_name(url, Located(1, "harbour", "main", "a" * 40, "2026-01-01", indexed_at, 0))
        for url, indexed_at in indexes
    }
    assert len(names) == 3
