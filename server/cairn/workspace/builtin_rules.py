"""What Cairn leaves out whatever the ignore files say, and how a decision is told.

By name alone, whatever its case: secrets, directories without text, generated and binary files. By what a file holds:
private keys, minified text, and what machines wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import frozen

from cairn.text.languages import PROSE_LANGUAGES, detect_language


@frozen
class Decision:
    """Whether a file or directory is indexed, and the rule that decided."""

    indexed: bool
    rule: str
    """The same text for all that the rule decides, so that they can be counted by it."""
    detail: str = ""
    """What is particular to this path, such as the line of the ignore file."""

    @property
    def explanation(self) -> str:
        """Rule and detail in one line: `ignored by docs/.gitignore, docs/.gitignore:3: *.tmp`."""
        return f"{self.rule} ({self.detail})" if self.detail else self.rule


INDEXED = Decision(True, "no rule excludes it")
_NO_TEXT = Decision(False, "built-in: directory without project text")
_SECRET = Decision(False, "built-in: may hold secrets")
_GENERATED = Decision(False, "built-in: generated file")
_DOCUMENTATION = Decision(False, "built-in: generated documentation")
_BINARY = Decision(False, "built-in: binary file type")

# Hold no text of the project's own, whether or not git ignores them. `.env` is a usual name of a virtual environment.
_SKIPPED_DIRECTORIES = frozenset(
    """
    .git .hg .svn .jj .bzr cvs node_modules bower_components __pycache__ .venv .virtualenv .env site-packages .tox .nox
    .eggs .mypy_cache .pytest_cache .ruff_cache .hypothesis .gradle .idea .vs .terraform .next .nuxt .svelte-kit
    .parcel-cache .turbo .dart_tool .stack-work .bundle .yarn .cache .ds_store
    """.split()
)

# Never indexed, not even when git tracks them: their text would end up in prompts.
_SECRET_DIRECTORIES = frozenset({".aws", ".ssh", ".gnupg", ".kube"})
_SECRET_NAMES = """
    .env .envrc .netrc _netrc .pgpass .my.cnf .htpasswd .npmrc .pypirc .git-credentials .dockercfg .s3cfg .boto
    .vault-token .vault_pass .vault_pass.txt kubeconfig credentials
    """.split()
_SECRET_SUFFIXES = (
    "pem key p8 p12 pfx pkcs12 jks jceks bks keystore keytab kdb kdbx ppk ovpn tfstate tfvars env".split()
)
_SECRET_NAME = re.compile(
    r"""
      \.env[._-].*                                                   # .env.production, .env_local
    | id_(rsa|dsa|ecdsa|ed25519).*
    | (credentials|secrets?)\.(json|ya?ml|toml|ini|xml|properties|txt)
    | .*(service[-_]account|firebase-adminsdk).*\.json | client_secret.*\.json
    | .*\.tfstate\..* | .*\.tfvars\.json
    """,
    re.VERBOSE | re.DOTALL,
)
_SECRET_SAMPLE = re.compile(r"(\.env[._-])?(example|sample|template|dist|defaults?|schema)(\.env)?")
"""Files that show which secrets a project needs, with no secret in them."""
_BACKUP_ENDINGS = ("~", ".bak", ".backup", ".old", ".orig", ".save", ".swp")
_BACKUP = re.compile(r"(~|\.(bak|backup|old|orig|save|swp))+$")
"""What editors and people put behind the name of a copy; a copy of a secret is one."""

# Written by machines: long, repetitive, and never what a question is about.
_GENERATED_NAMES = """
    package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb poetry.lock pipfile.lock uv.lock
    pdm.lock cargo.lock gemfile.lock composer.lock go.sum flake.lock mix.lock podfile.lock packages.lock.json
    """.split()
_GENERATED_ENDINGS = tuple(
    ".min.js .min.css .min.mjs .bundle.js .map .snap _pb2.py _pb2_grpc.py .pb.go .g.dart .designer.cs".split()
)

# Known by name to hold no text; what is not listed is recognised by its content.
_BINARY_SUFFIXES = """
    png jpg jpeg gif webp ico icns bmp tif tiff psd svg pdf ps eps doc docx xls xlsx ppt pptx odt
    zip gz tgz bz2 xz zst 7z rar tar jar war whl egg deb rpm dmg iso img exe dll so dylib a o obj lib pyc pyo pyd class
    wasm beam mp3 mp4 m4a avi mov mkv webm wav flac ogg ttf otf woff woff2 eot db sqlite sqlite3 parquet npy npz pkl
    pickle onnx safetensors pt pth h5 bin dat mo glb
    """.split()
_VERSIONED_LIBRARY = re.compile(r".*\.so\.[0-9.]+")

_BY_SUFFIX = {**dict.fromkeys(_BINARY_SUFFIXES, _BINARY), **dict.fromkeys(_SECRET_SUFFIXES, _SECRET)}
_BY_NAME = {**dict.fromkeys(_GENERATED_NAMES, _GENERATED), **dict.fromkeys(_SECRET_NAMES, _SECRET)}


def decide_directory_name(name: str) -> Decision | None:
    """The rule against directories called `name`, or None."""
    name = name.lower()
    if name in _SKIPPED_DIRECTORIES or name.endswith(".egg-info"):
        return _NO_TEXT
    return _SECRET if name in _SECRET_DIRECTORIES else None


def decide_file_name(name: str) -> Decision | None:
    """The rule against files called `name`, or None. Secrets come first."""
    name = name.lower()
    if name.endswith(_BACKUP_ENDINGS) and decide_file_name(_BACKUP.sub("", name)) is _SECRET:
        return _SECRET
    found = _BY_NAME.get(name) or _BY_SUFFIX.get(name.rpartition(".")[2] if "." in name else "")
    if (found is _SECRET or _SECRET_NAME.fullmatch(name)) and not _SECRET_SAMPLE.fullmatch(name):
        return _SECRET
    if found is _SECRET:
        return None
    if found is None and name.endswith(_GENERATED_ENDINGS):
        return _GENERATED
    if found is None and ".so." in name and _VERSIONED_LIBRARY.fullmatch(name):
        return _BINARY
    return _NO_TEXT if name in (".git", ".ds_store") else found


def may_hold_secrets(path: str) -> bool:
    """Whether a file at `path` (with `/`) is left out because of what its name, or that of a directory, promises."""
    *directories, name = path.split("/")
    return decide_file_name(name) is _SECRET or any(
        decide_directory_name(each) is _SECRET for each in directories
    )


_PRIVATE_KEY = Decision(False, _SECRET.rule, "it begins as a private key does")
_MINIFIED = Decision(False, "built-in: minified", "nearly all of it is in very long lines")

# A key, or a certificate with a key behind it; comments and what `openssl pkcs12` prints may precede them.
_KEY_FILE = re.compile(r"\s*(?:#[^\n]*\n\s*)*(?:-----BEGIN |---- BEGIN |Bag Attributes|PuTTY-User-Key-File-)")
_KEY_BLOCK = re.compile(
    r"^(?:-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|---- BEGIN SSH2 ENCRYPTED PRIVATE KEY|PuTTY-User-Key)",
    re.MULTILINE,
)

_LONG_LINE, _MINIFIED_SHARE, _MINIFIED_BLANKS, _MINIFIED_SIZE = 500, 0.9, 0.12, 1_000
"""Minified: of at least 1,000 characters, 90 % in lines of over 500, and of those under 12 % are blanks.

Looked up in 14,000 files of 13 repositories and 47,000 library files: sources with one embedded blob have up to 75 %
in long lines, minified files and tables of data 92 % and more. Of the latter, up to 11 % are blanks; of prose, 14 %
and more.
"""

_HEAD_LINES, _HEAD_CHARACTERS = 60, 8_000
"""Where a header comment ends at the latest: room for a long licence, which often comes before the marker."""

_COMMENT_LINE = re.compile(r"(?://|#|--|;|%|!|dnl\b|REM\b)")
_BLOCKS = {"/*": "*/", "<!--": "-->", "(*": "*)", "{-": "-}"}
_BEFORE_CODE = re.compile(
    r"(?:package|import|from|using|module|namespace|syntax|library|part of|pragma|extern|use|@file:|<\?|<!doctype|['\"]use )",
    re.IGNORECASE,
)
"""Lines that a header comment may follow."""

_EDGES = re.compile(r"^(?:[^\w@\"'`<]|<(?!auto))+|[\s*/#=\-]+$", re.IGNORECASE)
"""The drawing around a comment's words; a quotation mark stays, because it makes a mention of a statement."""

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
    r"|autogenerated by thrift|generated from \S+ by antlr|automatically generated by the flatbuffers compiler",
    re.IGNORECASE,
)
_PAGE_EDGE = 8_000
"""Characters at a page's beginning and end in which it says what made it."""
_TAG = re.compile(r"<[^>]*>")
_TOOLS = (
    r"(?:javadoc|dokka|doxygen|sphinx|typedoc|jsdoc|esdoc|yard|rdoc|sdoc|jazzy|swift-docc|docfx|phpdocumentor|apigen|doctum|rustdoc"
    r"|pdoc3?|epydoc|pydoctor|exdoc|ex_doc|edoc|haddock|scaladoc|groovydoc|ldoc|luadoc|gtk-doc|dartdoc|ddoc|godoc|naturaldocs)\b"
)
"""Programs that make pages of comments in code: what they say stands in the code as well."""
_GENERATOR = re.compile(
    rf"<meta\s+name=[\"']?generator[\"']?\s+content=[\"']?(?:[\w.]+ )?{_TOOLS}[^\"'>]*"
    rf"|(?:generated|created|built|powered|produced|made)(?: on [^<]{{0,60}})? (?:by|using|with)\s*(?:<[^>]*>\s*)*(?:the )?{_TOOLS}",
    re.IGNORECASE,
)

_APART = 3
"""Lines from one half of "generated … do not edit" to the other, at most."""


def decide_content(path: str, text: str) -> Decision:
    """Decide about the file at `path` that holds `text`, given that its name and place admit it."""
    if is_private_key(text):
        return _PRIVATE_KEY
    if path.lower().endswith((".html", ".htm")) and (marker := _generator_of_page(text)):
        return Decision(False, _DOCUMENTATION.rule, marker)
    if detect_language(path) in PROSE_LANGUAGES:
        return INDEXED  # prose has long lines; and documentation is read, whoever wrote it
    if _is_minified(text):
        return _MINIFIED
    marker = _generated_marker(text)
    return Decision(False, _GENERATED.rule, marker) if marker else INDEXED


def is_private_key(text: str) -> bool:
    """Whether a file of this text is a private key, or a certificate with one."""
    return bool(_KEY_FILE.match(text) and _KEY_BLOCK.search(text))


def _is_minified(text: str) -> bool:
    if len(text) < _MINIFIED_SIZE or len(text) < _MINIFIED_SHARE * _LONG_LINE * (text.count("\n") + 1):
        return False  # not even the average line could be long enough
    long_lines = [line for line in text.split("\n") if len(line) > _LONG_LINE]
    held = sum(map(len, long_lines))
    blanks = sum(line.count(" ") + line.count("\t") for line in long_lines)
    return held >= _MINIFIED_SHARE * len(text) and blanks < _MINIFIED_BLANKS * held


def _generated_marker(text: str) -> str:
    """The line of the header comment that says that a machine wrote the file, or ""."""
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
    """What a page says of the program that made it of comments in code, or ""."""
    for part in (text[:_PAGE_EDGE], text[-_PAGE_EDGE:]):
        if match := _GENERATOR.search(part):
            return " ".join(_TAG.sub(" ", match[0]).strip('<!->"/ ').split())
    return ""


def _header_comment(text: str) -> Iterator[tuple[int, str]]:
    """The comment lines before the code, with their line numbers."""
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
