"""The built-in rules that exclude files, whatever the ignore files say.

By path alone, in any case: secrets, directories without text, generated and binary files. By content:
secrets, minified text, and generated text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from attrs import frozen

from cairn.languages.registry import PROSE_LANGUAGES, detect_language
from cairn.workspace.secret_content import find_secret
from cairn.workspace.secret_paths import is_secret_directory, is_secret_file


@frozen
class Decision:
    """Whether a file or directory is indexed, and the rule that decides it."""

    indexed: bool
    rule: str
    """The same text for every path to which the rule applies, so that decisions can be counted by it."""
    detail: str = ""
    """What is special about this path, such as the line of the ignore file."""

    @property
    def explanation(self) -> str:
        """The rule and detail in one line: `ignored by docs/.gitignore (docs/.gitignore:3: *.tmp)`."""
        return f"{self.rule} ({self.detail})" if self.detail else self.rule


INDEXED = Decision(True, "no rule excludes it")
UNREADABLE = "cannot be read"
LEFT_OUT_BY_CONTENT = "left out by its content"
"""The rule of a file whose content excludes it, if the exact rule is not known."""


def unreadable(problem: OSError) -> Decision:
    """Return the decision about a path that the system does not let Cairn read."""
    reason = f"{UNREADABLE}: {problem.strerror or problem}"
    return Decision(False, reason, "make it readable for you, or exclude it in .cairnignore")


OTHER_WORKTREE = "another worktree of a repository"


def other_worktree(directory: str) -> Decision:
    """Return the decision about a directory, not the workspace folder, that `git worktree add` made."""
    return Decision(False, OTHER_WORKTREE, f"{directory}/.git")


_NO_TEXT = Decision(False, "built-in: directory without project text")
_SECRET = Decision(False, "built-in: may hold secrets")
_GENERATED = Decision(False, "built-in: generated file")
_DOCUMENTATION = Decision(False, "built-in: generated documentation")
_BINARY = Decision(False, "built-in: binary file type")

# Directories without text of the project, ignored by git or not. `.env` is often a virtual environment.
_SKIPPED_DIRECTORIES = frozenset(
    """
    .git .hg .svn .jj .bzr cvs node_modules bower_components __pycache__ .venv .virtualenv .env site-packages
    .tox .nox .eggs .mypy_cache .pytest_cache .ruff_cache .hypothesis .gradle .idea .vs .terraform .next .nuxt
    .svelte-kit .parcel-cache .turbo .dart_tool .stack-work .bundle .yarn .cache .ds_store
    """.split()
)

# Files that programs write: long, repetitive, and never the subject of a query.
_GENERATED_NAMES = """
    package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb poetry.lock pipfile.lock
    uv.lock pdm.lock cargo.lock gemfile.lock composer.lock go.sum flake.lock mix.lock podfile.lock
    packages.lock.json
    """.split()
_GENERATED_ENDINGS = tuple(
    ".min.js .min.css .min.mjs .bundle.js .map .snap _pb2.py _pb2_grpc.py .pb.go .g.dart .designer.cs".split()
)

# Endings of files without text. Other binary files are recognised by their content.
_BINARY_SUFFIXES = """
    png jpg jpeg gif webp ico icns bmp tif tiff psd svg pdf ps eps doc docx xls xlsx ppt pptx odt zip gz tgz
    bz2 xz zst 7z rar tar jar war whl egg deb rpm dmg iso img exe dll so dylib a o obj lib pyc pyo pyd class
    wasm beam mp3 mp4 m4a avi mov mkv webm wav flac ogg ttf otf woff woff2 eot db sqlite sqlite3 parquet npy
    npz pkl pickle onnx safetensors pt pth h5 bin dat mo glb
    """.split()
_VERSIONED_LIBRARY = re.compile(r".*\.so\.[0-9.]+")

_EXCLUDED = {
    **dict.fromkeys(_GENERATED_NAMES, _GENERATED),
    **dict.fromkeys(map(".{}".format, _BINARY_SUFFIXES), _BINARY),
}


def decide_directory_path(path: str) -> Decision | None:
    """Return the rule that excludes the directory at `path` (with `/`), apart from its parents, or None."""
    name = path.rpartition("/")[2].lower()
    if name in _SKIPPED_DIRECTORIES or name.endswith(".egg-info"):
        return _NO_TEXT
    return _SECRET if is_secret_directory(path) else None


def decide_file_path(path: str) -> Decision | None:
    """Return the rule that excludes the file at `path` (with `/`), apart from its directories, or None."""
    if is_secret_file(path):
        return _SECRET
    name = path.rpartition("/")[2].lower()
    if name in (".git", ".ds_store"):
        return _NO_TEXT
    _, dot, suffix = name.rpartition(".")
    found = _EXCLUDED.get(name) or _EXCLUDED.get(dot + suffix)
    if found is None and name.endswith(_GENERATED_ENDINGS):
        return _GENERATED
    if found is None and ".so." in name and _VERSIONED_LIBRARY.fullmatch(name):
        return _BINARY
    return found


def may_contain_secrets(path: str) -> bool:
    """Return whether a file at `path` (with `/`) is excluded because a name in its path suggests secrets."""
    directories = accumulate(path.split("/")[:-1], "{}/{}".format)
    return is_secret_file(path) or any(map(is_secret_directory, directories))


_PRIVATE_KEY = Decision(False, _SECRET.rule, "it begins as a private key does")
_MINIFIED = Decision(False, "built-in: minified", "nearly all of it is in very long lines")

# The file begins with a key, or with a certificate that a key follows. Comments and output of `openssl
# pkcs12` may precede them.
_KEY_FILE = re.compile(r"\s*(?:#[^\n]*\n\s*)*(?:-----BEGIN |---- BEGIN |Bag Attributes|PuTTY-User-Key-File-)")
_KEY_BLOCK = re.compile(
    r"^(?:-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
    r"|---- BEGIN SSH2 ENCRYPTED PRIVATE KEY|PuTTY-User-Key)",
    re.MULTILINE,
)

_LONG_LINE, _MINIFIED_SHARE, _MINIFIED_BLANKS, _MINIFIED_SIZE = 500, 0.9, 0.12, 1_000
"""Minified text has at least 1,000 characters, 90 % of them in lines over 500, with under 12 % blanks.

Measured in 14,000 files of 13 repositories and 47,000 library files: sources with one embedded blob have up
to 75 % in long lines, minified files and tables of data 92 % and more. The latter have up to 11 % blanks,
prose at least 14 %.
"""

_HEAD_LINES, _HEAD_CHARACTERS = 60, 8_000
"""The size limits of a header comment. They allow for a long licence, which often precedes the marker."""

_COMMENT_LINE = re.compile(r"(?://|#|--|;|%|!|dnl\b|REM\b)")
_BLOCKS = {"/*": "*/", "<!--": "-->", "(*": "*)", "{-": "-}"}
_BEFORE_CODE = re.compile(
    r"(?:package|import|from|using|module|namespace|syntax|library|part of|pragma|extern|use"
    r"|@file:|<\?|<!doctype|['\"]use )",
    re.IGNORECASE,
)

_EDGES = re.compile(r"^(?:[^\w@\"'`<]|<(?!auto))+|[\s*/#=\-]+$", re.IGNORECASE)
"""The decoration around a comment's words. A quotation mark is not removed, as it shows a mere mention."""

_THIS = (
    r"(?:this|the) (?:\w+ )?(?:file|code|source|module|header|class|script|content|contents of this file)\b"
)
_MADE = r"(?:(?:auto|automatically|machine|mechanically)[ -]?)?generated\b"
_STATED = re.compile(
    rf"(?:(?:warning|note|notice|attention|important|caution)\W+|please )*"
    rf"(?:{_THIS}[^.]{{0,40}}?(?<!not )\b{_MADE}|this is an? {_MADE}|(?:code |file |content )?{_MADE})",
    re.IGNORECASE,
)
_FORBIDDEN = re.compile(
    r"\b(?:do not|don['’]?t|never|must not|should not)(?: be)?(?: directly| manually)?(?: hand[- ]?)? ?"
    r"(?:edit|modif|chang|touch|alter)"
    r"|\b(?:edits|changes|modifications)\b[^.]{0,60}\b(?:lost|overwritten|discarded)",
    re.IGNORECASE,
)
_MARK = re.compile(
    r"@generated(?:\s*$|\s+(?:by|from|with|using|via|signedsource)\b|\s*[<:(,.–—-])"
    r"|(?:this (?:file|code) (?:is|was) )?(?:automatically )?@generated by\b"
    r"|<auto-?generated\b"
    r"|a bison parser, made by gnu bison|a lexical scanner generated by flex"
    r"|generated by (?:the protocol buffer compiler|the grpc|cython \d|re2c|gnu autoconf|automake \d)"
    r"|autogenerated by thrift|generated from \S+ by antlr"
    r"|automatically generated by the flatbuffers compiler",
    re.IGNORECASE,
)
_PAGE_EDGE = 8_000
"""The number of characters at a page's beginning and at its end in which its generator is searched for."""
_TAG = re.compile(r"<[^>]*>")
_TOOLS = (
    r"(?:javadoc|dokka|doxygen|sphinx|typedoc|jsdoc|esdoc|yard|rdoc|sdoc|jazzy|swift-docc|docfx|phpdocumentor"
    r"|apigen|doctum|rustdoc|pdoc3?|epydoc|pydoctor|exdoc|ex_doc|edoc|haddock|scaladoc|groovydoc|ldoc|luadoc"
    r"|gtk-doc|dartdoc|ddoc|godoc|naturaldocs)\b"
)
"""Programs that make pages from comments. The code has the same text, so the pages are not indexed."""
_GENERATOR = re.compile(
    rf"<meta\s+name=[\"']?generator[\"']?\s+content=[\"']?(?:[\w.]+ )?{_TOOLS}[^\"'>]*"
    r"|(?:generated|created|built|powered|produced|made)(?: on [^<]{0,60})? (?:by|using|with)\s*"
    rf"(?:<[^>]*>\s*)*(?:the )?{_TOOLS}",
    re.IGNORECASE,
)

_APART = 3
"""The maximum number of lines between the halves of "generated … do not edit"."""


def decide_content(path: str, text: str) -> Decision:
    """Decide about the file at `path` with the content `text`, if its name and directories are accepted."""
    if _is_private_key(text):
        return _PRIVATE_KEY
    if secret := find_secret(path, text):
        return Decision(False, _SECRET.rule, secret)
    if path.lower().endswith((".html", ".htm")) and (marker := _generator_of_page(text)):
        return Decision(False, _DOCUMENTATION.rule, marker)
    if detect_language(path) in PROSE_LANGUAGES:
        return INDEXED  # Prose has long lines, and even generated documentation is useful.
    if _is_minified(text):
        return _MINIFIED
    marker = _generated_marker(text)
    return Decision(False, _GENERATED.rule, marker) if marker else INDEXED


def holds_secret(path: str, text: str) -> bool:
    """Return whether a file is excluded as a secret, by its path (with `/`, perhaps absolute) or content."""
    return may_contain_secrets(path) or decide_content(path.rpartition("/")[2], text).rule == _SECRET.rule


def _is_private_key(text: str) -> bool:
    return bool(_KEY_FILE.match(text) and _KEY_BLOCK.search(text))


def _is_minified(text: str) -> bool:
    if len(text) < _MINIFIED_SIZE or len(text) < _MINIFIED_SHARE * _LONG_LINE * (text.count("\n") + 1):
        return False  # The average line is too short for minified text.
    long_lines = [line for line in text.split("\n") if len(line) > _LONG_LINE]
    size = sum(map(len, long_lines))
    blanks = sum(line.count(" ") + line.count("\t") for line in long_lines)
    return size >= _MINIFIED_SHARE * len(text) and blanks < _MINIFIED_BLANKS * size


def _generated_marker(text: str) -> str:
    """Return the line of the header comment that says that a program wrote the file, or ""."""
    stated, forbidden = ("", -_APART), -_APART
    for number, line in _header_comment(text):
        words = _EDGES.sub("", line)
        if _MARK.match(words):
            return words
        if _STATED.match(words):
            stated = (words, number)
        if _FORBIDDEN.search(words):
            forbidden = number
        if stated[0] and abs(stated[1] - forbidden) < _APART:
            return stated[0]
    return ""


def _generator_of_page(text: str) -> str:
    """Return a page's statement that names the program which made it from comments in code, or ""."""
    for part in (text[:_PAGE_EDGE], text[-_PAGE_EDGE:]):
        if match := _GENERATOR.search(part):
            return " ".join(_TAG.sub(" ", match[0]).strip('<!->"/ ').split())
    return ""


def _header_comment(text: str) -> Iterator[tuple[int, str]]:
    end = ""
    for number, raw in enumerate(text[:_HEAD_CHARACTERS].split("\n")[:_HEAD_LINES]):
        line = raw.strip()
        if not end:
            start = next((mark for mark in _BLOCKS if line.startswith(mark)), "")
            if start:
                end, line = _BLOCKS[start], line[len(start) :]
            elif _COMMENT_LINE.match(line):
                yield number, line
                continue
            elif line and not _BEFORE_CODE.match(line):
                return
            else:
                continue
        inside, closed, _ = line.partition(end)
        yield number, inside
        if closed:
            end = ""
