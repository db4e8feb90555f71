"""A git repository in which everything that can run a program or write a file does so, and leaves a mark.

The lists are those of `git help --config`, githooks(5), gitattributes(5) and the environment in git(1).
"""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

from tests.git_repository import GitRepository

HOOKS = """
    applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg
    post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive
    post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate
    fsmonitor-watchman p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit post-index-change
    """.split()

SETTINGS = """
    core.pager core.editor core.askPass core.sshCommand core.gitProxy core.fsmonitor core.alternateRefsCommand
    diff.external diff.trap.command diff.trap.textconv filter.trap.clean filter.trap.smudge
    filter.lines.process merge.trap.driver gpg.program gpg.openpgp.program gpg.x509.program gpg.ssh.program
    gpg.ssh.defaultKeyCommand sequence.editor interactive.diffFilter uploadpack.packObjectsHook
    remote.origin.uploadpack remote.origin.receivepack browser.trap.cmd man.trap.cmd difftool.trap.cmd
    mergetool.trap.cmd guitool.trap.cmd trailer.trap.command trailer.trap.cmd sendemail.toCmd sendemail.ccCmd
    sendemail.headerCmd imap.tunnel instaweb.browser instaweb.httpd web.browser help.browser rebase.exec
    hook.trap.command
    """.split()
"""The settings whose value is a program."""

COMMANDS = """
    blame cat-file check-attr check-ignore config diff diff-files diff-index diff-tree fetch for-each-ref grep
    log ls-files ls-remote ls-tree reflog rev-list rev-parse shortlog show show-ref status symbolic-ref tag
    """.split()

VARIABLES = """
    GIT_EXTERNAL_DIFF GIT_PAGER GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS GIT_PROXY_COMMAND GIT_EDITOR
    GIT_SEQUENCE_EDITOR PAGER EDITOR VISUAL SSH_ASKPASS BROWSER
    """.split()
"""The environment variables whose value is a program."""

TRACES = """
    GIT_TRACE GIT_TRACE_CURL GIT_TRACE_FSMONITOR GIT_TRACE_PACKET GIT_TRACE_PACKFILE GIT_TRACE_PACK_ACCESS
    GIT_TRACE_PERFORMANCE GIT_TRACE_REFS GIT_TRACE_SETUP GIT_TRACE_SHALLOW GIT_TRACE2 GIT_TRACE2_EVENT
    GIT_TRACE2_PERF
    """.split()
"""The environment variables whose value is a file to write."""

ELSEWHERE = """
    GIT_DIR GIT_COMMON_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_SHALLOW_FILE GIT_CONFIG
    GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_NAMESPACE GIT_REPLACE_REF_BASE GIT_ATTR_SOURCE GIT_GRAFT_FILE
    GIT_REFERENCE_BACKEND GIT_QUARANTINE_PATH
    """.split()
"""The environment variables that lead to another repository, or to another part of one."""


ATTRIBUTES = "* filter=trap diff=trap merge=trap ident\n*.md filter=lines\n"


class Traps:
    """Programs that leave a file with their name in the folder `marks`, which nothing else writes."""

    def __init__(self, folder: Path) -> None:
        self.marks = folder / "marks"
        self._programs = folder / "programs"
        for made in (self.marks, self._programs):
            made.mkdir(parents=True)

    @property
    def sprung(self) -> set[str]:
        return {mark.name for mark in self.marks.iterdir()}

    def program(self, name: str, folder: Path | None = None) -> str:
        file = (folder or self._programs) / name
        file.write_text(f"#!/bin/sh\ntouch {shlex.quote(str(self.marks / name))}\n")
        file.chmod(0o755)
        return str(file)

    def set(self, repository: Path) -> None:
        """Set all traps in a repository that has a work tree, and spring none."""
        own = repository / ".git"
        for hook in HOOKS:
            self.program(hook, own / "hooks")
        lines = ["[core]", "\trepositoryFormatVersion = 1", "[extensions]", "\tworktreeConfig = true"]
        for name in SETTINGS:
            lines += _setting(name, self.program(name))
        for command in COMMANDS:
            lines += _setting(f"alias.{command}", f"!{self.program(f'alias.{command}')}")
            lines += _setting(f"pager.{command}", self.program(f"pager.{command}"))
        more = {
            "hook.trap.event": "reference-transaction",
            "log.showSignature": "true",
            "credential.helper": f"!{self.program('credential.helper')}",
            "submodule.trap.update": f"!{self.program('submodule.update')}",
            "remote.origin.url": f"ext::{self.program('remote.url')}",
            "remote.origin.vcs": "trap",
            "remote.origin.promisor": "true",
            "remote.origin.fetch": "+refs/heads/*:refs/heads/*",
            "protocol.allow": "always",
            f"url.ext::{self.program('url.insteadOf')} .insteadOf": "ssh://",
            "init.templateDir": str(own / "hooks"),
            "include.path": str(own / "included"),
            "trace2.eventTarget": str(self.marks / "trace2.eventTarget"),
            "gc.auto": "1",
            "core.untrackedCache": "true",
            "core.splitIndex": "true",
            "core.excludesFile": str(own / "patterns"),
            "core.attributesFile": str(own / "attributes"),
            "diff.algorithm": "patience",
            "status.submoduleSummary": "true",
        }
        for name, value in more.items():
            lines += _setting(name, value)
        with (own / "config").open("a") as config:
            config.write("\n".join(lines) + "\n")
        (own / "included").write_text(
            "\n".join(_setting("filter.more.clean", self.program("include"))) + "\n"
        )
        (own / "config.worktree").write_text(
            "\n".join(_setting("diff.tree.textconv", self.program("config.worktree"))) + "\n"
        )
        (own / "info").mkdir(exist_ok=True)
        for file in (own / "info" / "attributes", own / "attributes"):
            file.write_text(ATTRIBUTES)

    def variables(self, folder: Path) -> dict[str, str]:
        """Return environment variables that are traps, too; `folder` is another repository."""
        programs = folder / "exec-path"
        programs.mkdir()
        for name in ("git", "git-remote-trap", "git-upload-pack", "git-remote-https"):
            self.program(name, programs)
        settings = {"diff.external": "GIT_CONFIG_COUNT", "core.fsmonitor": "GIT_CONFIG_COUNT"}
        return {
            **{name: self.program(name) for name in VARIABLES},
            **{name: str(self.marks / name) for name in TRACES},
            **{name: str(folder) for name in ELSEWHERE},
            "GIT_EXEC_PATH": str(programs),
            "GIT_TEMPLATE_DIR": str(programs),
            "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={self.program('GIT_CONFIG_PARAMETERS')}'",
            "GIT_CONFIG_COUNT": str(len(settings)),
            **{f"GIT_CONFIG_KEY_{number}": name for number, name in enumerate(settings)},
            **{f"GIT_CONFIG_VALUE_{n}": self.program(name) for n, name in enumerate(settings.values())},
        }


def _setting(name: str, value: str) -> list[str]:
    section, _, key = name.rpartition(".")
    section, _, part = section.partition(".")
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    return [f'[{section} "{part}"]' if part else f"[{section}]", f'\t{key} = "{quoted}"']


def snapshot(folder: Path) -> dict[str, tuple[int, int, int, str]]:
    """Return the mode, size, time and content of everything in a folder."""
    found = {}
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_size, status.st_mtime_ns, content)
    return found


def signed_commit(repository: Path, subject: str) -> str:
    """Make a commit of HEAD's tree with a signature, which git checks to show it."""
    git = GitRepository(repository).git
    who = "Ada <ada@example.org> 1800000000 +0000"
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----"
    head, tree = git("rev-parse", "HEAD"), git("rev-parse", "HEAD^{tree}")
    text = f"tree {tree}\nparent {head}\nauthor {who}\ncommitter {who}\n{signature}\n\n{subject}\n"
    commit = git("hash-object", "-t", "commit", "-w", "--stdin", given=text.encode())
    git("update-ref", "HEAD", commit)
    return commit
