"""What a change touches: the command, its input, and the requests of an editor, on a real repository."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import click
import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcRequestCancelled

from cairn.cli.change_command import changes
from tests.git_repository import GitRepository
from tests.harbour import HARBOUR, MOOR_DIFF
from tests.serving import PATIENCE_SECONDS

from .command_line import Ran, run_cairn, run_cairn_beside, run_cairn_json
from .daemon import NO_MODEL, run_daemon

pytestmark = pytest.mark.usefixtures("patient")

BERTHS, SCHEDULE = "src/harbour/berths.py", "src/harbour/schedule.py"
STALE = f"{SCHEDULE}:11"


@pytest.fixture
def repository(workspace: Path) -> GitRepository:
    """A repository in which the signature of `moor_ship` has changed since the last commit."""
    settings = HARBOUR["pyproject.toml"] + "\n[tool.pytest.ini_options]\n"
    made = GitRepository(workspace, {**HARBOUR, "pyproject.toml": settings})
    moor(workspace)
    return made


def moor(folder: Path) -> str:
    """Change the signature of `moor_ship`, and return the new text."""
    text = HARBOUR[BERTHS].replace("moor_ship(self, ship)", "moor_ship(self, ship, at)")
    (folder / BERTHS).write_text(text)
    return text


def stale_in(text: str) -> str:
    """Return the first section below the summary."""
    _, heading, *places = text.splitlines()
    assert heading == "Still use the old definition:"
    return places[0]


def test_a_call_with_the_old_signature_comes_first(repository: GitRepository) -> None:
    shown = run_cairn("changes", cwd=repository.folder).stdout
    assert "1 new signature" in shown.splitlines()[0]
    assert STALE in shown.partition("Changed:")[0]
    assert "Berth.moor_ship: it has the new parameter `at`" in shown
    assert "tests/test_berths.py:4 test_a_taken_berth_cannot_be_moored_at" in shown
    assert "pytest tests/test_berths.py" in shown
    seen = run_cairn("changes", "--color", "always", cwd=repository.folder).stdout
    assert "\x1b[1;33mStill use the old definition" in seen
    prompt = run_cairn("changes", "--prompt", cwd=repository.folder).stdout
    assert "moor_ship(self, ship, at)" in prompt


def test_a_reference_and_the_stage_choose_the_change(repository: GitRepository) -> None:
    repository.git("add", "--all")
    staged = run_cairn_json("changes", "--staged", cwd=repository.folder)
    assert [each["symbol"] for each in staged["changed"]] == ["Berth.moor_ship"]
    repository.commit("Moor at a place")
    for nothing in ((), ("--staged",), ("--diff", "-")):
        shown = run_cairn("changes", *nothing, cwd=repository.folder, stdin="").stdout
        assert shown.startswith("Nothing changed")
    assert STALE in run_cairn("changes", "HEAD~1", cwd=repository.folder).stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("nowhere",), 1, "nowhere"),
        (("--diff", "missing.diff"), 1, "missing.diff cannot be read (No such file"),
        (("--diff", "logo.png"), 1, "logo.png is not text"),
        (("main", "--diff", "-"), 2, "give either a diff, or a REF"),
        (("--diff", "-", "--staged"), 2, "a diff as text has no stage"),
    ],
)
def test_wrong_changes_are_refused(
    repository: GitRepository, arguments: tuple[str, ...], code: int, message: str
) -> None:
    (repository.folder / "logo.png").write_bytes(b"\x89PNG\0\0\0\0")
    ran = run_cairn("changes", *arguments, cwd=repository.folder, code=code, stdin=MOOR_DIFF)
    assert ran.stderr.startswith("cairn: ")
    assert message in ran.stderr


def test_a_diff_needs_no_repository(workspace: Path) -> None:
    refused = run_cairn("changes", cwd=workspace, code=1).stderr
    assert "diff" in refused
    assert STALE in run_cairn("changes", "--diff", "-", cwd=workspace, stdin=MOOR_DIFF).stdout


def test_branches_and_tags_complete_a_reference(repository: GitRepository) -> None:
    repository.git("tag", "moored")
    repository.git("branch", "mole/new")
    context = click.Context(changes)
    context.params["folders"] = [repository.folder]
    completed = changes.params[0].shell_complete(context, "mo")
    assert [each.value for each in completed] == ["mole/new", "moored"]


@pytest.mark.asyncio
async def test_a_running_engine_gets_the_diff_of_the_caller(workspace: Path) -> None:
    inner = workspace / "src/harbour"
    (inner / "moor.diff").write_bytes(MOOR_DIFF.encode("utf-16"))
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.settled()

        async def changed(name: str, stdin: str | None = None) -> Ran:
            return await run_cairn_beside("changes", "--diff", name, cwd=inner, stdin=stdin)

        from_file, from_stdin = await changed("moor.diff"), await changed("-", MOOR_DIFF)
        assert STALE in from_file.stdout
        assert from_stdin.stdout == from_file.stdout
        assert "Nothing changed" in (await changed("-", "")).stdout
        if sys.platform != "win32":  # A pipe is a file of the process that opened it.
            command = f"{sys.executable} -m cairn changes --diff <(cat moor.diff)"
            piped = await asyncio.to_thread(
                subprocess.run, ["bash", "-c", command], cwd=inner, capture_output=True, text=True, check=True
            )
            assert piped.stdout == from_file.stdout


@pytest.mark.asyncio
async def test_unsaved_text_of_an_editor_is_part_of_the_change(workspace: Path) -> None:
    GitRepository(workspace, HARBOUR)
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.settled()
        assert (await cairn.request("cairn/change"))["files"] == []
        text = moor(workspace)
        (workspace / BERTHS).write_text(HARBOUR[BERTHS])
        cairn.open(workspace / BERTHS, text)
        answer = await cairn.request("cairn/change")
        assert [each["symbol"] for each in answer["changed"]] == ["Berth.moor_ship"]
        assert [each["path"] for each in answer["dependents"] if each["isStale"]]
        with pytest.raises(JsonRpcException, match="nowhere"):
            await cairn.request("cairn/change", {"base": "nowhere"})


@pytest.mark.asyncio
async def test_a_cancelled_change_ends_with_that_error(workspace: Path) -> None:
    GitRepository(workspace, HARBOUR)
    for number in range(400):
        (workspace / f"src/harbour/pier_{number}.py").write_text(HARBOUR[BERTHS])
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.settled()
        request = cairn.client.protocol.send_request_async("cairn/change", {}, msg_id="slow")
        sending = asyncio.create_task(request)
        await asyncio.sleep(0)  # The request is sent.
        cairn.client.cancel_request(types.CancelParams(id="slow"))
        with pytest.raises(JsonRpcRequestCancelled):
            await asyncio.wait_for(sending, PATIENCE_SECONDS)
        assert (await cairn.request("cairn/change", {"diff": MOOR_DIFF}))["changed"]
