#!/usr/bin/env python3
"""Build the corpora that the benchmarks index, from pinned source distributions.

    python benchmarks/corpus.py NAME DEST [--downloads DIR] [--no-chunks]

NAME is small, medium, large, wide or all. Each distribution is downloaded with the user's own pip and its
configuration, checked against a pinned SHA-256 and unpacked into DEST/NAME with fixed modification times, so
that the same name gives the same bytes everywhere. Then the number of files is compared with the pinned one,
and the number of chunks with the least for NAME. With --downloads the archives are kept there and reused.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from attrs import frozen

_TIME = 1_700_000_000
"""Every file's modification time in Unix seconds: a fixed one, long past."""


@frozen
class Source:
    """A part of a source distribution."""

    requirement: str
    sha256: str
    keep: tuple[str, ...] = ("*",)
    """Globs of paths inside the archive's top folder; `*` matches across `/`."""
    drop: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.requirement.partition("==")[0]

    def wants(self, path: str) -> bool:
        """Return whether the corpus has the file at `path`."""
        is_kept = any(fnmatch(path, glob) for glob in self.keep)
        return is_kept and not any(fnmatch(path, glob) for glob in self.drop)


@frozen
class Corpus:
    """A tree with its known figures."""

    sources: tuple[Source, ...]
    files: int
    """The number of files in the tree, indexed or not."""
    chunks: int
    """The least number of chunks; the exact number depends on the chunker."""


_DJANGO = ("Django==5.1.4", "de450c09e91879fa5a307f696e57c851955c910a438a35e6b4c895e86bedc82a")
_SYMPY = ("sympy==1.13.3", "b27fd2c6530e0ab39e275fc9b683895367e51d5da91baa8d3d64db2565fec4d9")
_SQLALCHEMY = ("SQLAlchemy==2.0.36", "7f2767680b6d2398aea7082e45a774b2b0767b5c8d8ffb9c8b683088ea9b29c5")
_ANSIBLE = ("ansible-core==2.17.7", "3aaab735d6c4e2d6239bc326800dc0ecda2a1490caa8455b41084ec0bc54dacf")
_PLOTLY = ("plotly==5.24.1", "dbc8ac8339d248a4bcc36e08a5659bacfe1b079390b8953533f4eb22169b4bae")
_FLASK = ("flask==3.1.0", "5f873c5184c897c8d9d1b05df1e3d01b14910ce69607a117bd3277098a5836ac")

_RENDERED = ("doc/*.html", "doc/_static/*")
"""SQLAlchemy also ships its rendered documentation: 32,000 chunks of repeated page frames."""

CORPORA = {
    # A library of usual size, for what is done hundreds of times.
    "small": Corpus((Source(*_FLASK),), files=235, chunks=1_200),
    # A large application: 2,000 files, 20,000 chunks. Catalogues of translations are left out, since they are
    # not code.
    "medium": Corpus(
        (
            Source(*_DJANGO, keep=("django/*", "docs/*"), drop=("*.po", "*.mo")),
            Source(*_SQLALCHEMY, keep=("lib/*",)),
        ),
        files=2136,
        chunks=20_000,
    ),
    "large": Corpus(
        (Source(*_DJANGO), Source(*_SYMPY), Source(*_SQLALCHEMY, drop=_RENDERED), Source(*_ANSIBLE)),
        files=14578,
        chunks=100_000,
    ),
    # 20,000 files, most of them tiny.
    "wide": Corpus((Source(*_DJANGO), Source(*_PLOTLY)), files=22122, chunks=20_000),
}


def build(name: str, destination: Path, downloads: Path) -> Path:
    """Make the corpus `name` in `destination`, and return its folder. An existing one is only counted."""
    corpus, folder = CORPORA[name], destination / name
    if not folder.exists():
        unfinished = destination / f"{name}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        for source in corpus.sources:
            unpack(source, download(source, downloads), unfinished / source.name)
        unfinished.rename(folder)
    files = sum(1 for path in folder.rglob("*") if path.is_file())
    if files != corpus.files:
        sys.exit(f"{folder} has {files} files, not {corpus.files}. Remove it and build it again.")
    return folder


def count_chunks(folder: Path) -> tuple[int, int, int]:
    """Return the files that Cairn indexes, their chunks and their characters."""
    from cairn.chunking.chunker import chunk_text
    from cairn.settings.tree import IndexSettings
    from cairn.workspace.scan import FileRules, ScanReport, read_text, scan

    files = chunks = characters = 0
    for entry in scan(folder, FileRules(folder, IndexSettings()), ScanReport()):
        text = read_text(folder / entry.path)
        files += 1
        if text is not None:
            chunks += len(chunk_text(entry.path, text))
            characters += len(text)
    return files, chunks, characters


def download(source: Source, folder: Path) -> Path:
    """Return the archive, with the pinned checksum, in `folder`; pip downloads it if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = _find(source, folder)
    if archive is None:
        print(f"downloading {source.requirement}", file=sys.stderr)
        # Only this archive must be a source; what pip needs to read its metadata may come as wheels.
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", source.name]
        subprocess.run([*pip, "--dest", str(folder), source.requirement], check=True)
        archive = _find(source, folder)
    if archive is None:
        sys.exit(f"pip brought no archive of {source.requirement} with the pinned checksum.")
    return archive


def _find(source: Source, folder: Path) -> Path | None:
    for archive in sorted(folder.glob("*.tar.gz")):
        with archive.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() == source.sha256:
                return archive
    return None


def unpack(source: Source, archive: Path, folder: Path) -> None:
    """Write the corpus's part of the archive into `folder`, without the archive's top folder."""
    with tarfile.open(archive) as tar:
        for member, path in _members(tar):
            data = tar.extractfile(member) if source.wants(path) else None
            if data is None:
                continue
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data.read())
            os.utime(target, (_TIME, _TIME))


def _members(tar: tarfile.TarFile) -> Iterator[tuple[tarfile.TarInfo, str]]:
    """Yield regular files with their paths below the archive's top folder."""
    for member in tar:
        parts = PurePosixPath(member.name).parts[1:]
        if member.isfile() and parts and ".." not in parts:
            yield member, "/".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=(*CORPORA, "all"))
    parser.add_argument("destination", type=Path, metavar="DEST")
    parser.add_argument("--downloads", type=Path, help="keep the archives here")
    parser.add_argument("--no-chunks", action="store_true", help="do not count the chunks")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for name in CORPORA if options.name == "all" else (options.name,):
            folder = build(name, options.destination, options.downloads or Path(temporary))
            if options.no_chunks:
                continue
            files, chunks, characters = count_chunks(folder)
            print(f"{name}: {files} files indexed, {chunks} chunks, {characters / 1e6:.1f} MB of text")
            if chunks < CORPORA[name].chunks:
                sys.exit(f"{name} must have at least {CORPORA[name].chunks} chunks.")


if __name__ == "__main__":
    main()
