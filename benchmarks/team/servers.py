"""Runs local servers, clients and repositories for the benchmarks of a team's store, in temporary folders."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from attrs import define, field, frozen
from psycopg import sql

sys.path.append(str(Path(__file__).resolve().parents[2]))

from tests.killable_server import KillableServer as KillableServer

from cairn.index.postgres.roles import admit_server
from cairn.index.postgres.team_schema import prepare
from cairn.team.trial import HOST, LocalServer

QUICK: Mapping[str, str] = {"fsync": "off", "shared_buffers": "64MB", "max_wal_size": "512MB"}
"""The settings of servers that are not killed."""
LOGIN = "cairn_serve"
PASSWORD = "harbour-pilot-4711"
WORD = re.compile(r"[A-Za-z0-9_]{8,}")
"""The words to search for in answers; shorter ones are in most texts."""
_ENDED = 20.0


def make_database(server: LocalServer, name: str = "store") -> tuple[str, str]:
    """Make a database with the store's schema and a login for servers; return the URLs of owner and login."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (LOGIN,)).fetchone():
            connection.execute(
                sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(
                    sql.Identifier(LOGIN), sql.Literal(PASSWORD)
                )
            )
    prepare(server.url(name))
    with psycopg.connect(server.url(name), autocommit=True) as connection:
        admit_server(connection, LOGIN)
    return server.url(name), login_url(server, name)


def login_url(server: LocalServer, name: str = "store") -> str:
    """Return the URL by which `cairn serve` reaches a database of the server."""
    return f"postgresql://{LOGIN}:{PASSWORD}@{HOST}:{server.port}/{name}"


# --- repositories ---------------------------------------------------------------------------------


@frozen
class Copy:
    """A clone of a repository with files of its own, whose words no other repository has."""

    name: str
    """The name in the store."""
    folder: Path
    markers: tuple[str, ...]
    """Words that only files of this clone have: two of paths, one of a function, and others."""

    @property
    def head(self) -> str:
        return git(self.folder, "rev-parse", "HEAD")

    def words(self) -> set[str]:
        """Return all words of its texts, paths and commits, in lower case."""
        texts = [git(self.folder, "log", "--format=%H %s %an"), git(self.folder, "ls-files")]
        for path in texts[1].split("\n"):
            place = self.folder / path
            if place.is_file() and not place.is_symlink() and place.stat().st_size < 2_000_000:
                texts.append(place.read_bytes().decode("utf-8", "replace"))
        return words_of("\n".join(texts)) | words_of(self.name)


def words_of(text: str) -> set[str]:
    """Return the words of a text that are long enough to be specific, in lower case."""
    return {word.lower() for word in WORD.findall(text)}


def git(folder: Path, *arguments: str) -> str:
    """Return the output of a git command."""
    settings = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "gc.auto=0")
    done = subprocess.run(("git", *settings, *arguments), cwd=folder, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace").strip()


def copy_of(source: Path, name: str, folder: Path, secrets: Sequence[str]) -> Copy:
    """Clone `source` as the repository `name`, and commit files with the eight `secrets`."""
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    # Hard links take no room. A fork is known by its first commits, so it is a clone of the whole history.
    git(place.parent, "clone", "--quiet", "--local", str(source), str(place))
    document, module, function, owner, *others = secrets
    write(
        place,
        {
            f"handbook/{document}.md": f"# The {others[0]} of {owner}\n\nWhoever opens the {others[1]} needs the {others[2]}, "  # noqa: E501
            f"and closes it with the {others[3]}.\nSee `{function}`.\n",
            f"tools/{module}.py": f'"""Opens the {others[1]}."""\n\n\nclass {owner.title()}:\n    """Keeps the {others[2]}."""\n\n'  # noqa: E501
            f"    def {function}(self, {others[3]}):\n        return {others[3]} + 1\n\n\n"
            f"def open_{function}():\n    return {owner.title()}().{function}(2)\n",
        },
    )
    commit(place, f"The {others[0]}")
    return Copy(name, place, tuple(secrets))


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts below the folder."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def commit(folder: Path, subject: str) -> str:
    """Commit all files, and return the commit."""
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", subject)
    return git(folder, "rev-parse", "HEAD")


# --- `cairn serve` --------------------------------------------------------------------------------


@frozen
class Answer:
    """An answer of the server."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> str:
        """Return the message of an error; "" for an answer."""
        if self.status == 200:
            return ""
        try:
            return str(self.json["error"]["message"])
        except (ValueError, KeyError, TypeError):
            return self.body.decode("utf-8", "replace")[:200]


@define
class Client:
    """One client with a persistent connection. Each thread has its own."""

    port: int
    token: str
    timeout: float = 60.0
    _connection: http.client.HTTPConnection | None = field(default=None, init=False)

    def ask(
        self, path: str, params: Any = None, *, method: str | None = None, body: bytes | None = None
    ) -> Answer:
        """Return the answer; a broken connection is made again once."""
        data = body if params is None else json.dumps(params).encode()
        headers = {"Authorization": f"Bearer {self.token}"}
        if path.startswith("/mcp"):
            headers["Accept"] = "application/json, text/event-stream"
        if data is not None:
            headers["Content-Type"] = "application/json"
        for is_last in (False, True):
            if self._connection is None:
                self._connection = http.client.HTTPConnection(HOST, self.port, timeout=self.timeout)
            try:
                self._connection.request(method or ("GET" if data is None else "POST"), path, data, headers)
                got = self._connection.getresponse()
                return Answer(got.status, got.read())
            except (http.client.HTTPException, ConnectionError):
                self.close()
                if is_last:
                    raise
            except OSError:
                self.close()
                raise
        raise AssertionError

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@frozen
class Serving:
    """A running `cairn serve` over a store."""

    process: subprocess.Popen[str]
    port: int
    log: Path

    def client(self, token: str, timeout: float = 60.0) -> Client:
        return Client(self.port, token, timeout)


@contextmanager
def serving(urls: Sequence[str], folder: Path) -> Iterator[Serving]:
    """Run `cairn serve` over the store at these URLs, with its own data and settings in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "serve.log"
    environment = {
        **os.environ,
        "CAIRN_DATA_DIR": str(folder / "data"),
        "CAIRN_CONFIG_DIR": str(folder / "config"),
        # On a busy machine, legs that are cut off would give other results each time.
        "CAIRN_SEARCH__LEG_DEADLINE_MS": "60000",
    }
    command = [sys.executable, "-m", "cairn", "serve", "--json", "--no-lsp", "--port", "0"]
    for number, url in enumerate(urls):
        secret = folder / f"url-{number}"
        secret.write_text(url + "\n")
        secret.chmod(0o600)
        command += ["--store", str(secret)]
    with log.open("w") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment, cwd=folder
        )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"cairn serve did not start: {log.read_text()}")
        yield Serving(process, int(json.loads(line)["url"].rpartition(":")[2]), log)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_ENDED)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        process.stdout.close()


def stopped_by(event: threading.Event, work: Any, *positional: Any) -> threading.Thread:
    """Return a thread that calls `work(*given)` repeatedly until the event is set."""

    def run() -> None:
        while not event.is_set():
            work(*positional)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread
