"""Find the commit that a user means, such as `HEAD~3`, `origin/main`, a short hash or `main...HEAD`.

git never sees the user's text: Cairn reads the name's reference itself, and gives git its hash.
"""

from __future__ import annotations

import os
import re

from cairn.errors import InvalidRequestError
from cairn.text.nearest import near
from cairn.workspace.git import GitError, is_hash
from cairn.workspace.repository import MOST_LIST_BYTES, Repository, read_regular

_PLACES = ("{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")
"""Where git searches the reference of a name, in this order."""
_NAME = re.compile(
    r"(?P<name>[^~^]*?)(?:@\{(?P<number>\d{1,6})\})?(?P<steps>(?:[~^]\d{0,6})*)(?:\^\{(?:commit)?\})?"
)
_FOLDERS = ("refs/heads", "refs/tags", "refs/remotes")
_SHORT_HASH = re.compile(r"[0-9a-fA-F]{4,64}")
_MOST_NAMES = 3


def resolve_revision(repository: Repository, text: str, deadline: float) -> str:
    """Return the hash of the commit that `text` means. Raise InvalidRequestError, or GitError if the
    repository cannot be read."""
    text = text.strip()
    one, dots, other = text.partition("...")
    if dots:
        return _merge_base(repository, one or "HEAD", other or "HEAD", deadline)
    if ".." in text:
        raise _refused(text, "is a range; give the commit before the change, or `git diff` as a diff")
    match = _NAME.fullmatch(text)
    if match is None:
        raise _refused(text, "is not understood; give a commit, branch or tag, such as `HEAD~3`")
    name = match["name"] or "HEAD"
    start = _hash_of("HEAD" if name == "@" else name, match["number"], repository)
    if start is None:
        raise _refused(text, f"is not a commit, branch or tag{_near(repository, name)}")
    commit = _ask(repository, start + match["steps"], deadline)
    if commit is None:
        if match["steps"] and _ask(repository, start, deadline) is not None:
            shallow = repository.shallow()
            remedy = "; this is a shallow clone: run `git fetch --unshallow`" if shallow else ""
            raise _refused(text, f"goes back further than the history does{remedy}")
        raise _refused(text, f"is not a commit, branch or tag{_near(repository, name)}")
    return commit


def _hash_of(name: str, number: str | None, repository: Repository) -> str | None:
    """Return the hash of a reference, or a hash or a part of one as it is; None if it is neither."""
    if number is None and is_hash(name):
        return name
    for place in _PLACES:
        full = "refs/stash" if name == "stash" else place.format(name)
        found = repository.resolve(full)
        if found is not None:
            return found if number is None else _earlier(repository, full, int(number))
    return name.lower() if number is None and _SHORT_HASH.fullmatch(name) else None


def _earlier(repository: Repository, reference: str, number: int) -> str | None:
    """Return what a reference was, `number` changes ago; None if this is not noted."""
    folder = repository.own if reference == "HEAD" else repository.common
    log = read_regular(folder, f"logs/{reference}", MOST_LIST_BYTES) or b""
    lines = log.decode("ascii", "replace").splitlines()
    fields = lines[-1 - number].split(" ", 2) if number < len(lines) else []
    return fields[1] if len(fields) > 1 and is_hash(fields[1]) else None


def _merge_base(repository: Repository, one: str, other: str, deadline: float) -> str:
    hashes = [resolve_revision(repository, name, deadline) for name in (one, other)]
    head = repository.resolve("HEAD")
    if head != hashes[1]:
        raise _refused(
            f"{one}...{other}", f"does not end at the commit that is checked out; give `{one}...HEAD`"
        )
    try:
        output = b"".join(repository.git(hashes[0], deadline).run(("merge-base", *hashes)))
    except GitError as problem:
        if problem.output or problem.final:
            raise
        raise _refused(f"{one}...{other}", "have no common commit in the history that is here") from None
    return os.fsdecode(output).split()[0]


def _ask(repository: Repository, expression: str, deadline: float) -> str | None:
    """Return the commit of an expression that consists of a hash and steps; None if there is none."""
    head = repository.resolve("HEAD") or ""
    try:
        # The expression has no letters but those of the hash.
        command = ("rev-parse", "--verify", "--quiet", f"{expression}^{{commit}}")
        found = b"".join(repository.git(head, deadline).run(command)).decode("ascii").strip()
    except GitError as problem:
        if problem.final:
            raise
        return None
    return found if is_hash(found) else None


def _near(repository: Repository, name: str) -> str:
    short = {reference.split("/", 2)[2] for reference in repository.names(*_FOLDERS)}
    found = near(name, sorted(short), _MOST_NAMES) or [each for each in ("main", "master") if each in short]
    return f"; did you mean {' or '.join(f'`{each}`' for each in found)}?" if found else ""


def _refused(text: str, problem: str) -> InvalidRequestError:
    shown = text if len(text) <= 80 else f"{text[:80]}…"
    return InvalidRequestError("base", f"`{shown}` {problem}")
