"""Reads a public repository for training from a bare clone: files at a revision, and the history to it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen
from licences import LICENCE_FILE, licence_of, names_other

from cairn.languages.language import Category
from cairn.languages.registry import category, detect_language
from cairn.workspace.builtin_rules import decide_content

_FILE_BYTES = 150_000
"""The size limit of files; larger ones are mostly data, bundles or generated."""
_LOG_COMMITS = 4000
_LOG_BYTES = 60_000_000

_OTHERS_CODE = frozenset(
    """
    vendor vendored _vendor third_party third-party thirdparty 3rdparty 3rd-party external extern deps dep
    node_modules bower_components pods carthage submodules dist build out target generated gen testdata
    fixtures __snapshots__ snapshots locales locale i18n translations assets static public
    """.split()
)
"""Folders that usually contain vendored or generated code."""

_BENCHMARK = frozenset(
    """
    aiohttp fastapi flask httpx model2vec pydantic requests starlette click axios express redux gin cobra
    chi gson commons-lang lang3 jackson jackson-databind guzzle guzzlehttp monolog laravel illuminate
    sinatra rack rails tokio trpc messagepack messagepack-csharp ktor cats alamofire serde zod nlohmann
    nlohmann-json phoenix axum vitest newtonsoft newtonsoft.json dapper kotlinx.coroutines exposed circe
    http4s vapor plug ecto abseil abseil-cpp absl fmt fmtlib curl redis libuv uv bats bats-core aeson
    telescope.nvim telescope lazy.nvim lazy zig-clap nvm bash-it pandoc xmonad mini.nvim mini zls snapkit
    rxswift nvim-lspconfig lspconfig catch2 luarocks oban os-lib oslib preact serilog slim tornado viper
    astropy django matplotlib seaborn xarray pylint pytest scikit-learn sklearn sphinx sympy
    """.split()
)
"""Projects on whose questions ranking is measured; a folder or file of such a name may be a copy of one."""

_NO_TOPIC = re.compile(
    r"change|license|licence|copying|authors|contributors|news\b|history\b|releases?\b|release[-_]?notes"
)
"""Files about all changes, and about people."""

_NO_LANGUAGE = frozenset({"html", "css", "scss", "less", "svg", "sql", "jupyter", "latex"})
"""Markup and data, which have few words."""


@frozen
class Repository:
    """A bare clone and the revision to read."""

    name: str
    """The name as `owner/name`."""
    folder: Path
    revision: str

    def licence(self) -> str | None:
        """Return the permissive licence that the repository's own files state; None for any other."""
        names = self._git("ls-tree", "--name-only", self.revision).splitlines()
        licence_files = filter(LICENCE_FILE.fullmatch, names)
        return licence_of(self._git("show", f"{self.revision}:{name}") for name in licence_files)

    def files(self) -> dict[str, int]:
        """Return paths and sizes, in bytes, of the files that may be used."""
        listed = self._git("ls-tree", "-r", "-l", "-z", self.revision)
        found = {}
        others = []
        for entry in filter(None, listed.split("\0")):
            facts, path = entry.split("\t", 1)
            size = facts.split()[3]
            folder, _, name = path.rpartition("/")
            if (
                folder
                and LICENCE_FILE.fullmatch(name)
                and category(detect_language(name)) is not Category.CODE
            ):
                licence = self._blob(facts.split()[2])
                if licence is None or names_other(licence):
                    others.append(folder + "/")
            elif size.isdigit() and 0 < int(size) <= _FILE_BYTES and is_own_source(path):
                found[path] = int(size)
        return {path: size for path, size in found.items() if not path.startswith(tuple(others))}

    def texts(self, paths: list[str]) -> Iterator[tuple[str, str]]:
        """Yield the text of each file that is neither binary nor generated."""
        with subprocess.Popen(
            self._command("cat-file", "--batch"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for path in paths:
                if "\n" in path:
                    continue
                process.stdin.write(f"{self.revision}:{path}\n".encode())
                process.stdin.flush()
                header = process.stdout.readline().split()
                if len(header) != 3 or header[1] != b"blob":
                    continue  # The file is listed, but not in the clone.
                content = process.stdout.read(int(header[2]) + 1)[:-1]
                text = content.decode("utf-8", "replace")
                if "\0" not in text and decide_content(path, text).indexed:
                    yield path, text
            process.stdin.close()

    def log(self) -> Iterator[str]:
        """Yield lines of the newest commits with their added text, up to a limit of bytes."""
        command = self._command(
            *("log", "--no-merges", f"--max-count={_LOG_COMMITS}", "--format=%x01%s%x02%b%x03"),
            *("-p", "-U0", "--no-renames", "--no-color", "--no-ext-diff", "--diff-filter=AM", self.revision),
        )
        left = _LOG_BYTES
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            for line in process.stdout:
                yield line[:2000].decode("utf-8", "replace")
                left -= len(line)
                if left <= 0:
                    process.kill()
                    return

    def _blob(self, name: str) -> str | None:
        """Return the text of a blob, None if the clone lacks it."""
        done = subprocess.run(self._command("cat-file", "-p", name), capture_output=True)
        return None if done.returncode else done.stdout.decode("utf-8", "replace")

    def _git(self, *arguments: str) -> str:
        done = subprocess.run(self._command(*arguments), capture_output=True, check=True)
        return done.stdout.decode("utf-8", "replace")

    def _command(self, *arguments: str) -> list[str]:
        return ["git", "-C", str(self.folder), "-c", "core.quotePath=false", *arguments]


def open_repository(name: str, folder: Path, revision: str = "HEAD") -> Repository:
    """Open the bare clone in `folder` at the commit `revision`. Raises CalledProcessError without one."""
    command = ["git", "-C", str(folder), "rev-parse", "--verify", f"{revision}^{{commit}}"]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return Repository(name, folder, done.stdout.strip())


def is_own_source(path: str) -> bool:
    """Return whether the file at `path` is code or prose in a known language, and the project's own."""
    *folders, name = path.lower().split("/")
    if not _OTHERS_CODE.isdisjoint(folders) or not _BENCHMARK.isdisjoint([*folders, name.partition(".")[0]]):
        return False
    language = detect_language(path)
    if ".min." in name or folders[:1] == [".github"]:
        return False
    if category(language) is not Category.CODE and _NO_TOPIC.match(name):
        return False
    return language != "" and category(language) is not Category.CONFIG and language not in _NO_LANGUAGE
