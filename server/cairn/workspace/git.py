"""The one place that starts git: with a time limit, without prompts, and with no settings but Cairn's own.

A repository may be hostile: its settings, hooks and attributes can name programs. So git never runs in a
user's repository, but in a git folder of Cairn's own. That contains what `workspace.repository` puts into it:
a commit as `HEAD`, the place of the objects, and copies of a few files. Whatever git writes, it writes there.
As git is asked about `HEAD`, no name or hash is taken for an option.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from attrs import frozen

_SETTINGS = (
    "--no-pager", "--literal-pathspecs", "-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false",
    "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "protocol.ext.allow=never",
)  # fmt: skip
_ENVIRONMENT = {
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",  # A partial clone would fetch missing files one by one.
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_WITHOUT_USER_SETTINGS = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}
_USER_SETTINGS = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM")
"""The variables that name the files of the user's own settings of git."""
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class GitError(Exception):
    """The error that a repository cannot be read, or that git failed. If `final`, a retry is useless."""

    def __init__(self, problem: str, final: bool, output: str = "") -> None:
        super().__init__(problem)
        self.final = final
        self.output = output
        """All that git said about the error."""


def is_hash(text: str) -> bool:
    """Return whether the text is the full hash of an object."""
    return _HASH.fullmatch(text) is not None


def git_folder(
    head: str = "", objects: Path | None = None, extensions: Mapping[str, str] | None = None
) -> dict[str, bytes]:
    """Return the files, by path, of a git folder at the commit `head`, which reads a repository's objects.

    Raise GitError if `head` is neither the full hash of a commit nor "".
    """
    if head and not is_hash(head):
        raise GitError(f"{head[:80]!r} is not the hash of a commit.", final=True)
    # An index of several packs could name packs of other repositories.
    lines = ["[core]\nbare = true\nmultiPackIndex = false\n"]
    lines.append(f"repositoryFormatVersion = {int(bool(extensions))}\n[extensions]\n")
    lines += [f"{name} = {value}\n" for name, value in (extensions or {}).items()]
    files = {
        "HEAD": f"{head or 'ref: refs/heads/none'}\n".encode(),
        "config": "".join(lines).encode(),
    }
    if objects is not None:
        # git only reads the objects of `alternates`. It would write new ones into its own folder.
        files["objects/info/alternates"] = _quoted(os.fsencode(objects)) + b"\n"
    return files


def write_git_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a git folder into an empty folder. Raise OSError."""
    (folder / "objects").mkdir()
    (folder / "refs").mkdir()
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


@frozen
class Git:
    """Runs git in a temporary git folder. It stops at `deadline` (of the monotonic clock), or when `stop()`
    is true."""

    files: Mapping[str, bytes]
    """The files of the git folder, by path."""
    deadline: float
    stop: Callable[[], bool] = lambda: False
    """A separate thread calls this ten times a second."""
    environment: Mapping[str, str] | None = None
    """The environment variables, for a command that needs the user's own settings of git."""

    def run(self, arguments: Sequence[str], given: bytes = b"") -> Iterator[bytes]:
        """Yield git's output as it arrives. `given` is git's input. Raise GitError after the output."""
        with tempfile.TemporaryDirectory(prefix="cairn-git-", ignore_cleanup_errors=True) as folder:
            write_git_folder(Path(folder), self.files)
            # Versions of git before 2.32 find the user's settings by HOME alone.
            alone = _WITHOUT_USER_SETTINGS | {"HOME": folder, "XDG_CONFIG_HOME": folder}
            environment = environment_with() | alone if self.environment is None else self.environment
            yield from run_in(Path(folder), arguments, environment, self.deadline, self.stop, given)


def run_in(
    folder: Path,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    deadline: float,
    stop: Callable[[], bool] = lambda: False,
    given: bytes = b"",
) -> Iterator[bytes]:
    """Run git in a git folder of Cairn's own, and yield the output. Raise GitError after the output."""
    program = shutil.which("git")
    if program is None or not Path(program).is_absolute():  # Windows also searches the current folder.
        raise GitError("git was not found: install it, or add it to PATH.", final=True)
    # Input and errors are files: with three pipes, both sides could wait for each other.
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stderr:
        stdin.write(given)
        stdin.seek(0)
        try:
            process = subprocess.Popen(
                (program, *_SETTINGS, *arguments),
                cwd=folder,
                env={**environment, "GIT_DIR": str(folder)},
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as error:
            raise GitError(f"git could not be started: {error}", final=True) from error
        done, ended = threading.Event(), list[str]()
        guard = threading.Thread(
            target=_guard, args=(process, deadline, stop, done, ended), name="cairn-git", daemon=True
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
            output = stderr.read(10_000).decode("utf-8", "replace").strip()
            last = output.splitlines()[-1] if output else f"ended with code {process.returncode}"
            raise GitError(ended[0] if ended else f"git: {last}", bool(ended), output)


def environment_with(*prefixes: str, with_user_settings: bool = False) -> dict[str, str]:
    """Return the environment for git. Of git's own variables, which may name programs, files to write, or
    another repository, it has only those with these prefixes."""
    wanted = prefixes + (_USER_SETTINGS if with_user_settings else ())
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(wanted)
    }
    return kept | _ENVIRONMENT


def user_settings(deadline: float) -> dict[str, str]:
    """Return the user's own settings of git. Raise GitError."""
    git = Git(git_folder(), deadline, environment=environment_with(with_user_settings=True))
    return settings_in(git.run(("config", "--list", "-z")))


def settings_in(listing: Iterator[bytes]) -> dict[str, str]:
    """Return the settings in the output of `git config --list -z`. Raise GitError."""
    entries = (entry.partition("\n") for entry in os.fsdecode(b"".join(listing)).split("\0") if entry)
    # In git, a name without a value means true.
    return {name: value if divider else "true" for name, divider, value in entries}


def pieces(blocks: Iterator[bytes], separator: bytes) -> Iterator[str]:
    """Yield the text before each separator; bytes that are not UTF-8 become U+FFFD."""
    for piece in parts(blocks, separator):
        yield piece.decode("utf-8", "replace")


def parts(blocks: Iterator[bytes], separator: bytes) -> Iterator[bytes]:
    """Yield the bytes before each separator."""
    rest = b""
    for block in blocks:
        *whole, rest = (rest + block).split(separator)
        yield from whole


def contents(blocks: Iterator[bytes]) -> Iterator[bytes | None]:
    """Yield the contents in the output of `git cat-file --batch`, None for each object that is not a file or
    is missing. The output may end early."""
    rest = bytearray()
    end = size = -1
    for block in blocks:
        rest += block
        while (end := rest.find(b"\n")) >= 0:
            fields = bytes(rest[:end]).split(b" ")
            is_found = len(fields) == 3 and fields[2].isdigit()
            size = int(fields[2]) + 1 if is_found else 0
            if len(rest) < end + 1 + size:
                break
            found = bytes(rest[end + 1 : end + size])
            del rest[: end + 1 + size]
            yield found if is_found and fields[1] == b"blob" else None


def _guard(
    process: subprocess.Popen[bytes],
    deadline: float,
    stop: Callable[[], bool],
    done: threading.Event,
    ended: list[str],
) -> None:
    while not done.wait(0.1):
        if stop():
            ended.append("Reading git's history was stopped.")
        elif time.monotonic() > deadline:
            ended.append("Reading git's history took too long; the next reading continues from here.")
        if ended:
            process.kill()
            return


def _quoted(path: bytes) -> bytes:
    """Quote an absolute path for git's file `objects/info/alternates`, which has one path in a line."""
    if b"\n" not in path:
        return path
    return b'"' + path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
