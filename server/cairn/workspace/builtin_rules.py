"""What Cairn leaves out by name alone, whatever the ignore files say. Names match without regard to case."""

from __future__ import annotations

import re

from cairn.workspace.decision import Decision

_NO_TEXT = Decision(False, "built-in: directory without project text")
_SECRET = Decision(False, "built-in: may hold secrets")
_GENERATED = Decision(False, "built-in: generated file")
_BINARY = Decision(False, "built-in: binary file type")

# Hold no text of the project's own, whether or not git ignores them. `.env` is a usual name of a virtual environment.
_SKIPPED_DIRECTORIES = frozenset(
    """
    .git .hg .svn .jj .bzr cvs
    node_modules bower_components __pycache__ .venv .virtualenv .env site-packages .tox .nox .eggs
    .mypy_cache .pytest_cache .ruff_cache .hypothesis .gradle .idea .vs .terraform .next .nuxt
    .svelte-kit .parcel-cache .turbo .dart_tool .stack-work .bundle .yarn .cache .ds_store
    """.split()
)

# Never indexed, not even when git tracks them: their text would end up in prompts.
_SECRET_DIRECTORIES = frozenset({".aws", ".ssh", ".gnupg", ".kube"})
_SECRET_NAMES = frozenset(
    """
    .env .envrc .netrc _netrc .pgpass .my.cnf .htpasswd .npmrc .pypirc .git-credentials .dockercfg .s3cfg .boto
    .vault-token .vault_pass .vault_pass.txt kubeconfig credentials
    """.split()
)
_SECRET_SUFFIXES = frozenset(
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
_GENERATED_NAMES = frozenset(
    """
    package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb poetry.lock pipfile.lock uv.lock
    pdm.lock cargo.lock gemfile.lock composer.lock go.sum flake.lock mix.lock podfile.lock packages.lock.json
    """.split()
)
_GENERATED_ENDINGS = tuple(
    """
    .min.js .min.css .min.mjs .bundle.js .map .snap _pb2.py _pb2_grpc.py .pb.go .g.dart .designer.cs
    """.split()
)

# Known by name to hold no text; what is not listed is recognised by its content.
_BINARY_SUFFIXES = frozenset(
    """
    png jpg jpeg gif webp ico icns bmp tif tiff psd svg pdf ps eps doc docx xls
    xlsx ppt pptx odt zip gz tgz bz2 xz zst 7z rar tar jar war whl egg deb rpm
    dmg iso img exe dll so dylib a o obj lib pyc pyo pyd class wasm beam
    mp3 mp4 m4a avi mov mkv webm wav flac ogg ttf otf woff woff2 eot db sqlite
    sqlite3 parquet npy npz pkl pickle onnx safetensors pt pth h5 bin dat mo glb
    """.split()
)
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
