"""The one decision whether a file is indexed, and which rule made it.

Ignore files follow git: nested `.gitignore` files, the deepest match wins, the last pattern of a file
wins within it, and nothing below an ignored directory can be taken back in. `.cairnignore` files work
the same way and are read after `.gitignore`, so that they can overrule it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from attrs import frozen
from pathspec import GitIgnoreSpec

from cairn.config import IndexSettings

IGNORE_FILES = (".gitignore", ".cairnignore")
"""Read in this order in each directory; the later overrules the earlier."""

# Directories that hold no text of the project's own, whether or not they are ignored by git.
_SKIPPED_DIRECTORIES = GitIgnoreSpec.from_lines(
    """
    .git/ .hg/ .svn/ .jj/ .bzr/ CVS/
    node_modules/ bower_components/ __pycache__/ .venv/ .virtualenv/ site-packages/ .tox/ .nox/ .eggs/ *.egg-info/
    .mypy_cache/ .pytest_cache/ .ruff_cache/ .hypothesis/ .gradle/ .idea/ .vs/ .terraform/ .next/ .nuxt/
    .svelte-kit/ .parcel-cache/ .turbo/ .dart_tool/ .stack-work/ .bundle/ .yarn/ .cache/ .DS_Store
    """.split()
)

# Never indexed, not even when git tracks them: their text would end up in prompts.
_SECRETS = GitIgnoreSpec.from_lines(
    """
    .env .env.* !.env.example !.env.sample !.env.template *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.ppk
    id_rsa* id_dsa* id_ecdsa* id_ed25519* .netrc .pgpass .htpasswd .npmrc .pypirc .git-credentials
    credentials credentials.json credentials.yml credentials.yaml service-account*.json secrets.json secrets.yml
    secrets.yaml secrets.toml *.tfstate *.tfstate.* *.tfvars .aws/ .ssh/ .gnupg/
    """.split()
)

# Written by machines: long, repetitive, and never what a question is about.
_GENERATED = GitIgnoreSpec.from_lines(
    """
    package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb poetry.lock Pipfile.lock uv.lock
    pdm.lock Cargo.lock Gemfile.lock composer.lock go.sum flake.lock mix.lock Podfile.lock packages.lock.json
    *.min.js *.min.css *.min.mjs *.bundle.js *.map *.snap *_pb2.py *_pb2_grpc.py *.pb.go *.g.dart *.designer.cs
    """.split()
)

# Known by name to hold no text; what is not listed is recognised by its content.
_BINARY = GitIgnoreSpec.from_lines(
    """
    *.png *.jpg *.jpeg *.gif *.webp *.ico *.icns *.bmp *.tif *.tiff *.psd *.svg *.pdf *.ps *.eps *.doc *.docx *.xls
    *.xlsx *.ppt *.pptx *.odt *.zip *.gz *.tgz *.bz2 *.xz *.zst *.7z *.rar *.tar *.jar *.war *.whl *.egg *.deb *.rpm
    *.dmg *.iso *.img *.exe *.dll *.so *.so.* *.dylib *.a *.o *.obj *.lib *.pyc *.pyo *.pyd *.class *.wasm *.beam
    *.mp3 *.mp4 *.m4a *.avi *.mov *.mkv *.webm *.wav *.flac *.ogg *.ttf *.otf *.woff *.woff2 *.eot *.db *.sqlite
    *.sqlite3 *.parquet *.npy *.npz *.pkl *.pickle *.onnx *.safetensors *.pt *.pth *.h5 *.bin *.dat *.mo *.glb
    """.split()
)

_BUILT_IN = (
    (_SKIPPED_DIRECTORIES, "built-in: directory without project text"),
    (_SECRETS, "built-in: may hold secrets"),
    (_GENERATED, "built-in: generated file"),
    (_BINARY, "built-in: binary file type"),
)


@frozen
class Decision:
    """Whether a file is indexed, and the rule that decided."""

    indexed: bool
    rule: str


_INDEXED = Decision(True, "no rule excludes it")


class FileRules:
    """The rules of one workspace folder. Ignore files are read once; make a new object when they change."""

    def __init__(self, root: Path, settings: IndexSettings) -> None:
        self._root = root
        self._settings = settings
        self._include = GitIgnoreSpec.from_lines(settings.include)
        self._exclude = GitIgnoreSpec.from_lines(settings.exclude)
        self._ignore_specs: dict[str, tuple[tuple[str, GitIgnoreSpec], ...]] = {}

    def decide(self, path: str) -> Decision:
        """Decide about the file at `path` (relative, with `/`) from its name, its size and its directories."""
        entered = self.decide_descent(path.rpartition("/")[0])
        if not entered.indexed:
            return entered
        try:
            status = (self._root / path).lstat()
        except OSError as problem:
            return Decision(False, f"cannot be read: {problem.strerror or problem}")
        return self.decide_file(path, status)

    def decide_descent(self, directory: str) -> Decision:
        """Decide whether the scan reaches `directory` ("" is the folder itself, which it always does)."""
        parts = directory.split("/") if directory else []
        for depth in range(1, len(parts) + 1):
            ancestor = "/".join(parts[:depth])
            decision = self.decide_directory(ancestor)
            if not decision.indexed:
                return decision
            if (self._root / ancestor).is_symlink():
                return Decision(False, f"symbolic link: {ancestor}")
        return _INDEXED

    def decide_directory(self, path: str) -> Decision:
        """Decide whether to descend into the directory at `path`, given that its parent was entered."""
        return self._by_name(path + "/")

    def decide_file(self, path: str, status: os.stat_result) -> Decision:
        """Decide about one file, given that its directory was entered. `status` must not follow links."""
        if not stat.S_ISREG(status.st_mode):
            link = stat.S_ISLNK(status.st_mode)
            return Decision(False, "symbolic link" if link else "not a regular file")
        decision = self._by_name(path)
        if not decision.indexed:
            return decision
        if self._settings.include and not self._include.match_file(path):
            return Decision(False, "settings: index.include does not name it")
        if status.st_size > self._settings.max_file_bytes:
            return Decision(
                False, f"larger than index.maxFileBytes ({status.st_size} > {self._settings.max_file_bytes})"
            )
        return decision

    def _by_name(self, path: str) -> Decision:
        for spec, rule in _BUILT_IN:
            if spec.match_file(path):
                return Decision(False, rule)
        if self._exclude.match_file(path):
            return Decision(False, "settings: index.exclude")
        return self._by_ignore_files(path)

    def _by_ignore_files(self, path: str) -> Decision:
        """The deepest ignore file with a matching pattern decides, as in git."""
        directory = path.rstrip("/").rpartition("/")[0]
        while True:
            for name, spec in reversed(self._specs_in(directory)):
                below = path[len(directory) + 1 :] if directory else path
                result = spec.check_file(below)
                if result.include is not None:
                    place = f"{directory}/{name}" if directory else name
                    return Decision(False, f"ignored by {place}") if result.include else _INDEXED
            if not directory:
                return _INDEXED
            directory = directory.rpartition("/")[0]

    def _specs_in(self, directory: str) -> tuple[tuple[str, GitIgnoreSpec], ...]:
        specs = self._ignore_specs.get(directory)
        if specs is None:
            names = IGNORE_FILES if directory else (".git/info/exclude", *IGNORE_FILES)
            read = ((name, _read_patterns(self._root / directory / name)) for name in names)
            specs = tuple((name, spec) for name, spec in read if spec is not None)
            self._ignore_specs[directory] = specs
        return specs


def _read_patterns(path: Path) -> GitIgnoreSpec | None:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # most directories have none
        return None
    return GitIgnoreSpec.from_lines(text.splitlines())
