"""Find a folder's git repository, and run git in it: with a time limit, without prompts or changes."""

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
    """The error that git could not be started, failed or timed out. If `final`, a retry is useless."""

    def __init__(self, problem: str, final: bool) -> None:
        super().__init__(problem)
        self.final = final


@frozen
class Repository:
    top: Path
    own: Path
    """The git folder of this worktree."""
    common: Path
    """The git folder that all worktrees of the repository share."""

    @property
    def keeps_table(self) -> bool:
        """Whether references are in a table ("reftable") instead of files."""
        return (self.common / "reftable").is_dir()

    def resolve(self, name: str) -> str | None:
        """Return the hash of a reference in a file, None if it is missing. Raise OSError or ValueError."""
        for _ in range(5):  # git has the same depth limit.
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
        """Return the commits whose parents were not fetched. Raise OSError or ValueError."""
        try:
            return frozenset((self.common / "shallow").read_text("ascii").split())
        except FileNotFoundError:
            return frozenset()


def locate(root: Path) -> Repository | None:
    """Return the repository of the folder, or None if there is none or it cannot be read."""
    try:
        root = root.resolve()
        for top in (root, *root.parents):
            own = top / ".git"
            if own.is_file():  # This is a worktree or a submodule.
                own = top / own.read_text("utf-8").removeprefix("gitdir:").strip()
            if not (own / "HEAD").exists():
                continue
            link = own / "commondir"
            return Repository(top, own, own / link.read_text("utf-8").strip() if link.is_file() else own)
    except (OSError, ValueError):  # The file may not be readable, or is not text.
        return None
    return None


@frozen
class Git:
    """Runs git in a folder. It stops at `deadline` (of the monotonic clock), or when `stop()` is true."""

    root: Path
    deadline: float
    stop: Callable[[], bool] = lambda: False
    """A separate thread calls this ten times a second."""

    def run(self, arguments: Sequence[str], given: str = "") -> Iterator[bytes]:
        """Yield git's output as it arrives. `given` is git's input. Raise GitError after the output."""
        program = shutil.which("git")
        if program is None or not Path(program).is_absolute():  # Windows also searches the current folder.
            raise GitError("git was not found: install it, or add it to PATH.", final=True)
        # Input and errors are files: with three pipes, both sides could wait for each other.
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
                process.kill()  # The caller may stop early.
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
                ended.append("Reading git's history took too long; the next reading continues from here.")
            if ended:
                process.kill()
                return


def pieces(blocks: Iterator[bytes], separator: bytes) -> Iterator[str]:
    """Yield the text before each separator; bytes that are not UTF-8 become U+FFFD."""
    rest = b""
    for block in blocks:
        *whole, rest = (rest + block).split(separator)
        for piece in whole:
            yield piece.decode("utf-8", "replace")


def _environment() -> dict[str, str]:
    """Return Cairn's environment without variables that select another repository, which a git hook sets."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(("GIT_CONFIG_", "GIT_EXEC_PATH"))
    }
    return kept | {
        "GIT_ALLOW_PROTOCOL": "none",  # A partial clone would fetch missing files one by one.
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
