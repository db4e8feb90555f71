"""Finds the git repository that a folder is in, and runs git on it: bounded, asking nobody, changing nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from attrs import frozen

_SETTINGS = ("--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false")
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class GitError(Exception):
    """git could not be started, failed, or was ended by us; `final` if another try is in vain."""

    def __init__(self, problem: str, final: bool) -> None:
        super().__init__(problem)
        self.final = final


@frozen
class Repository:
    top: Path
    """The folder that holds `.git`."""
    own: Path
    """The git folder of this worktree."""
    common: Path
    """The git folder that all worktrees share."""

    @property
    def keeps_table(self) -> bool:
        """Whether references are in a table ("reftable") instead of files."""
        return (self.common / "reftable").is_dir()

    def resolve(self, name: str) -> str | None:
        """The hash that a reference kept in files stands for, None if it does not exist.

        Raises OSError, ValueError.
        """
        for _ in range(5):  # as deep as git itself follows
            shared = name.startswith("refs/") and not name.startswith(("refs/bisect/", "refs/worktree/"))
            file = (self.common if shared else self.own) / name
            text = file.read_text("utf-8").strip() if file.is_file() else self._packed(name)
            if not text.startswith("ref:"):
                return text if _HASH.fullmatch(text) else None
            name = text.removeprefix("ref:").strip()
        return None

    def _packed(self, name: str) -> str:
        packed = self.common / "packed-refs"
        if not packed.is_file():
            return ""
        line = re.search(
            rb"^([0-9a-f]+) " + re.escape(name.encode()) + rb"\r?$", packed.read_bytes(), re.MULTILINE
        )
        return line.group(1).decode() if line else ""

    def shallow(self) -> frozenset[str]:
        """The commits whose parents were not fetched. Raises OSError, ValueError."""
        try:
            return frozenset((self.common / "shallow").read_text("ascii").split())
        except FileNotFoundError:
            return frozenset()


def locate(root: Path) -> Repository | None:
    """The repository that the folder is in, None if there is none or it cannot be read."""
    try:
        root = root.resolve()
        for top in (root, *root.parents):
            own = top / ".git"
            if own.is_file():  # a worktree or a submodule
                own = top / own.read_text("utf-8").removeprefix("gitdir:").strip()
            if not (own / "HEAD").exists():
                continue
            link = own / "commondir"
            return Repository(top, own, own / link.read_text("utf-8").strip() if link.is_file() else own)
    except (OSError, ValueError):  # not for us to read, or not text
        return None
    return None


@frozen
class Git:
    """Runs git in a folder, until `deadline` (of the monotonic clock) or until `stop()` is true."""

    root: Path
    deadline: float
    stop: Callable[[], bool] = lambda: False
    """Asked ten times a second, on a thread of its own."""

    def run(self, arguments: Sequence[str], given: str = "") -> Iterator[bytes]:
        """What git writes, as it comes; `given` is its input. Raises GitError, after what could be read."""
        program = shutil.which("git")
        if program is None or not Path(program).is_absolute():  # Windows looks in the current folder, too
            raise GitError("git was not found: install it, or add it to PATH.", final=True)
        # Files instead of pipes: with three pipes each side can wait for the other.
        with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stderr:
            stdin.write(given.encode())
            stdin.seek(0)
            try:
                process = subprocess.Popen(
                    (program, *_SETTINGS, *arguments),
                    cwd=self.root,
                    env=_environment(),
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
                )
            except OSError as error:
                raise GitError(f"git could not be started: {error}", final=True) from error
            done, ended = threading.Event(), list[str]()
            guard = threading.Thread(
                target=self._guard, args=(process, done, ended), name="cairn-git", daemon=True
            )
            guard.start()
            assert process.stdout is not None
            try:
                while block := os.read(process.stdout.fileno(), 1 << 16):
                    yield block
                process.wait()
            finally:
                process.kill()  # if the caller wants no more
                process.stdout.close()
                process.wait()
                done.set()
                guard.join()
            if process.returncode:
                stderr.seek(0)
                problem = ended[0] if ended else _reason(stderr.read(10_000), process.returncode)
                raise GitError(problem, final=bool(ended))

    def _guard(self, process: subprocess.Popen[bytes], done: threading.Event, ended: list[str]) -> None:
        while not done.wait(0.1):
            if self.stop():
                ended.append("Reading git's history was stopped.")
            elif time.monotonic() > self.deadline:
                ended.append("Reading git's history took too long; the next time it goes on from here.")
            if ended:
                process.kill()
                return


def pieces(blocks: Iterator[bytes], separator: bytes) -> Iterator[str]:
    """What stands before each separator; bytes that are not UTF-8 become U+FFFD."""
    rest = b""
    for block in blocks:
        *whole, rest = (rest + block).split(separator)
        for piece in whole:
            yield piece.decode("utf-8", "replace")


def _environment() -> dict[str, str]:
    """Ours, less what points git at another repository, as when an editor is started from a hook."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(("GIT_CONFIG_", "GIT_EXEC_PATH"))
    }
    return kept | {
        "GIT_ALLOW_PROTOCOL": "none",  # a partial clone would fetch what it lacks, file by file
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def _reason(stderr: bytes, code: int) -> str:
    text = stderr.decode("utf-8", "replace").strip()
    if "dubious ownership" in text:
        folder = re.search(r"repository at '(.+)'", text)
        return (
            "git does not trust this repository, as it belongs to another user; if you do, run: "
            f"git config --global --add safe.directory {folder.group(1) if folder else '<folder>'}"
        )
    return f"git: {text.splitlines()[-1] if text else f'ended with code {code}'}"
