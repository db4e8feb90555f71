"""Makes files with secrets, and files that only look so. The same seed makes the same files."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator

_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
TOKENS = (
    ("AKIA", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16),
    ("ghp_", _ALNUM, 36), ("github_pat_", _ALNUM + "_", 82), ("glpat-", _ALNUM, 20),
    ("xoxb-7", string.digits + "-" + _ALNUM, 50), ("https://hooks.slack.com/services/T", _ALNUM, 40),
    ("sk_live_", _ALNUM, 24), ("AIza", _ALNUM + "-_", 35), ("npm_", _ALNUM, 36), ("pypi-AgE", _ALNUM, 80),
    ("sk-ant-api03-", _ALNUM + "-_", 95), ("sk-proj-", _ALNUM, 48), ("hf_", _ALNUM, 34), ("SG.", _ALNUM, 22),
    ("dop_v1_", _HEX, 64), ("dapi", _HEX, 32), ("hvs.", _ALNUM, 90), ("shpat_", _HEX, 32), ("SK", _HEX, 32),
    ("glsa_", _ALNUM, 32), ("cairn_", _ALNUM + "-_", 43), ("AccountKey=", _ALNUM, 86),
)  # fmt: skip
_RESTS = {"SG.": (".", _ALNUM, 43), "glsa_": ("_", _HEX, 8), "AccountKey=": ("==", "", 0)}
"""The second parts of tokens that have two."""

FORMATS = {
    "{0}.json": '{{\n  "name": "{0}",\n  "value": "{1}"\n}}\n',
    "deploy/{0}.yaml": "name: {0}\nitems:\n  - value: {1}\n",
    "{0}.toml": '[{0}]\nvalue = "{1}"\n',
    "conf/{0}.ini": "[{0}]\nvalue={1}\n",
    "{0}.properties": "{0}.value={1}\n",
    "{0}.xml": "<{0}><value>{1}</value></{0}>\n",
    "{0}.csv": "name,value\n{0},{1}\n",
    "notes/{0}.txt": "To open {0}, use {1}.\n",
    "{0}": "{1}\n",
    "{0}.log": "2026-01-02 GET /{0}?value={1} 200\n",
    "compose.{0}.yml": "services:\n  {0}:\n    command: run --value {1}\n",
    "Dockerfile.{0}": "FROM scratch\nENV VALUE={1}\n",
}
"""The names of files with data or settings, and their texts around a name and a value."""
_NOUNS = "harbour berth crane ferry buoy anchor lantern mast rudder quay".split()
PASSWORD_KEYS = (
    "password", "DB_PASSWORD", "api_key", "apiKey", "client-secret", "secretAccessKey", "AUTH_TOKEN",
    "dbPasswd",
)  # fmt: skip
_ASSIGNMENTS = ("{}: {}\n", '{}="{}"\n', "{} = {}\n", '"{}": "{}",\n', "export {}={}\n", "<{0}>{1}</{0}>\n")
PLACEHOLDERS = (
    "${SECRET}", "{{ .Values.secret }}", "<token>", "xxxxxxxxxxxxxxxxxxxxxxxx", "changeme", "", "null",
    "your-api-key-goes-here", "AKIAIOSFODNN7EXAMPLE", "$(cat /run/secrets/key)", "/etc/app/tls/server.key",
    "ENC[AES256_GCM,data:pv5gTRp6]", "vault:secret/app#key", "my-app-secret-name", "%env(APP_SECRET)%",
)  # fmt: skip
"""Values that stand for a secret, and are none."""


def token(chance: random.Random) -> str:
    start, alphabet, length = chance.choice(TOKENS)
    joint, second, more = _RESTS.get(start, ("", "", 0))
    return start + _text(chance, alphabet, length) + joint + _text(chance, second, more)


def files_with_tokens(seed: int, count: int) -> Iterator[tuple[str, str]]:
    """Yield paths and texts of files of which each has a token."""
    chance = random.Random(seed)
    for _ in range(count):
        name, form = chance.choice(list(FORMATS.items()))
        yield _filled(chance, name, form, token(chance))


def files_with_passwords(seed: int, count: int) -> Iterator[tuple[str, str]]:
    """Yield paths and texts of files of which each assigns a random password."""
    chance = random.Random(seed)
    for _ in range(count):
        password = _text(chance, string.ascii_letters, 14) + _text(chance, string.digits, 6)
        line = chance.choice(_ASSIGNMENTS).format(chance.choice(PASSWORD_KEYS), password)
        yield _filled(chance, chance.choice(("{0}.yaml", "{0}.json", "{0}.conf", "{0}")), "# {0}\n{1}", line)


def files_with_placeholders(seed: int, count: int) -> Iterator[tuple[str, str]]:
    """Yield paths and texts of files that assign placeholders to passwords."""
    chance = random.Random(seed)
    for _ in range(count):
        line = chance.choice(_ASSIGNMENTS).format(chance.choice(PASSWORD_KEYS), chance.choice(PLACEHOLDERS))
        yield _filled(chance, chance.choice(list(FORMATS)), "# {0}\n{1}", line)


def _filled(chance: random.Random, name: str, form: str, value: str) -> tuple[str, str]:
    noun = chance.choice(_NOUNS)
    return name.format(noun), form.format(noun, value)


def _text(chance: random.Random, alphabet: str, length: int) -> str:
    return "".join(chance.choices(alphabet, k=length)) if alphabet else ""
