"""Makes questions from commits after a checkout: the subject asks, the changed code files answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from attrs import frozen
from engine.place import git

from cairn.languages.language import Category
from cairn.languages.registry import category, detect_language
from cairn.text.identifiers import identifier_words
from cairn.text.words import is_stopword
from cairn.workspace.collections import FileKind, file_kind

_STEP = 50
"""The number of commits by which the checkout is moved back until there are enough questions."""
_MOST_STEPS = 60
_OLDEST_SHARE = 0.5
"""The largest share of the main line after the checkout, so that a young repository keeps a history."""
_TARGETS = 3
_CHANGED_FILES = 12
"""A commit that touches more files of any kind is about none of them."""
_WORDS = range(4, 25)
_FEWEST_WORDS = 3
_QUESTIONS_A_FILE = 5
"""The limit per file: a file that most commits touch would be a good answer to any question."""
_CALLED_SHARE = 1 / 3
"""The largest share of questions with a target's file name, since the name alone finds those."""

_ROUTINE = re.compile(
    r"""^(?:\[?(?:docs?|documentation|chore|ci|tests?|testing|build|style|release|deps(?:-dev)?|meta|infra|bench(?:marks?)?|
        examples?|website|site|examples?|nix|benches)\b[^:]{0,20}[\]:!/] | v?\d+\.\d | merge\b | revert\b | backport\b | bump(?:s|ed|ing)?\b |
        prepar(?:e|ing)\b | minor\b | polish\w*\b | merg\w+\b | releas(?:e|ing)\b | version\b | upgrad(?:e|ing)\b | sync\b | wip\b | fixup! | squash! |
        amend! | regenerate\b | initial\b | apply\b.*\b(?:suggestions?|review|fixes|fixers?)\b |
        updat(?:e|ed|ing)\s+(?:to\b|the\s+)?(?:.*\b(?:docs?|version|dependenc\w+|deps|copyright|licen[sc]e|submodules?|vendor\w*)\b |
        \S+$ | \S+\s+to\s+v?\d) ) |
        \b(?:changelogs?|change\s+log|readme|typos?|mis-?spell\w*|spelling|grammar|dependabot|renovate|copyright|licen[sc]es?|
        linters?|lint(?:ing)?|clippy|rubocop|eslint|prettier|stylecop|checkstyle|sonar\w*|gofmt|php-?cs\w*|phpstan|psalm|mypy|
        pylint|hlint|ormolu|scalafmt|ktlint|detekt|pre-commit|codespell|whitespace|indent(?:ation)?|white\s+space|
        docstrings?|comments?|commented|xml\s+docs?|javadocs?|scaladocs?|haddocks?|docs|documentation|document|documented|
        wording|phrasing|rephrase|nits?|formatting|reformat\w*|tests?|unit-?tests?|testing|specs?|test\s+cases?|coverage|
        benchmarks?|fuzz\w*|travis|appveyor|github\s+actions?|workflows?|ci|codecov|dependenc(?:y|ies)|
        release|snapshot|nightly|gemfile|gemspec|podspec|dockerfile|package\.json|cargo\.toml|go\.mod|
        version\s+(?:bump|number)|deprecations?|warnings?|code\s+style|cosmetic|tidy|tidying|clean-?ups?|cleaned|
        cherry|merge[sd]?|from\s+upstream|openbsd|revert(?:s|ed|ing)?|review|feedback|todos?|feature\s+branch|
        \d*[a-f]+\d[0-9a-f]{5,} | java\s*\d+|jdk\s*\d+|python\s*\d|php\s*\d|node\s*\d+|ghc[\s-]*\d|swift\s*\d|xcode\s*\d*)\b""",  # noqa: E501
    re.VERBOSE | re.IGNORECASE,
)
"""Subjects of maintenance, which does not change what the code does."""
_PREFIX = re.compile(
    r"""^(?:\s*\[[^\]]{1,30}\]\s* |
        (?:feat(?:ure)?|fix(?:es|ed)?|perf|refactor(?:ing)?|bug(?:fix)?|hotfix|improv(?:e|ement)|enhancement|change|add|new)
        (?:[(\[][^)\]]*[)\]])?!?:\s+ |
        [\w./*,{}-]{1,30}(?:\([^)]*\))?!?:\s+(?=\S+\s+\S+\s+\S+) )+""",
    re.VERBOSE | re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"""\s*[(\[]?\s*(?:\b(?:fix(?:es|ed)?|close[sd]?|resolve[sd]?|refs?|see|issues?|pr|pull\s+request|gh)[:\s]+)*
        (?:[\w.-]+/[\w.-]+)?(?:\#|\bGH-|\bgh-)\d+(?:\s*(?:,|and|&)\s*\#\d+)*\s*[)\]]? |
        https?://\S+ | \(\s*\) | \[\s*\] | \s\(\w[\w-]*/[^)]*\)$""",
    re.VERBOSE | re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z][\w'-]*")
_NAMES = re.compile(r"\w+")
_GENERIC = frozenset(
    "add adds added adding remove removes removed removing fix fixes fixed fixing update updates updated "
    "updating use uses used using make makes made change changes changed changing improve improves improved "
    "allow allows allowed support supports supported refactor refactors refactored refactoring move moves "
    "moved rename renames renamed handle handles simplify simplified simplifies implement implements "
    "implemented introduce introduces avoid avoids ensure ensures minor small some more new old better issue "
    "issues bug bugs error code class classes method methods function functions file files set get don't "
    "doesn't not instead when only also now unused missing correct correctly".split()
)
_BOT = re.compile(r"\[bot\]|\bbot\b|dependabot|renovate", re.IGNORECASE)
_FIELD, _RECORD = "\x1f", "\x1e"


@frozen
class CommitQuestion:
    """A subject, and the paths that its commit changed, relative to the repository."""

    query: str
    paths: tuple[str, ...]


@frozen
class _Commit:
    hash: str
    author: str
    query: str
    """The subject as a question, "" if it cannot be one."""
    paths: tuple[str, ...]
    """The paths of all changed, added or removed files, with both paths of renamed ones."""


def is_source(path: str) -> bool:
    """Return whether the path is that of code, and not of a test or an example."""
    return category(detect_language(path)) is Category.CODE and file_kind(path) is FileKind.SOURCE


def commit_questions(source: Path, folder: str, wanted: int) -> tuple[str, list[CommitQuestion]]:
    """Return a commit of the main line of `source`, and questions about files in `folder` from the commits
    after it.

    The commit is the newest after which there are `wanted` questions, or the one with the most of them.
    """
    line = git(source, "rev-list", "--first-parent", "HEAD").split()
    commits = list(_commits(source))
    best: tuple[str, list[CommitQuestion]] = line[0], []
    for back in range(_STEP, min(_STEP * _MOST_STEPS, int(len(line) * _OLDEST_SHARE)) + 1, _STEP):
        questions = _questions(source, line[back], folder, commits)
        if len(questions) > len(best[1]):
            best = line[back], questions
        if len(questions) >= wanted:
            break
    return best


def _commits(source: Path) -> Iterator[_Commit]:
    """Return all commits but merges, newest first."""
    said = git(
        source, "-c", "core.quotePath=false", "log", "--no-merges", "--name-only", "--no-renames",
        f"--format={_RECORD}%H{_FIELD}%an{_FIELD}%s",
    )  # fmt: skip
    for record in said.split(_RECORD)[1:]:
        head, *changes = record.split("\n")
        commit, author, subject = head.split(_FIELD, 2)
        yield _Commit(commit, author, question_of(subject), tuple(filter(None, changes)))


def _questions(source: Path, base: str, folder: str, commits: list[_Commit]) -> list[CommitQuestion]:
    """Return the questions from the commits that `base` does not reach."""
    listed = git(source, "-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", base).split("\n")
    there = frozenset(path for path in listed if is_source(path) and _is_within(path, folder))
    later = set(git(source, "rev-list", f"{base}..HEAD").split())
    # The checkout already has a change that was ported between branches.
    earlier = {commit.query for commit in commits if commit.hash not in later}
    questions: dict[str, CommitQuestion] = {}
    uses = Counter[str]()
    called = Counter[bool]()
    for commit in commits:
        query = commit.query
        if commit.hash not in later or not query or query in earlier or query in questions:
            continue
        paths = [path for path in commit.paths if is_source(path)]
        targets = tuple(sorted(path for path in paths if path in there))
        if not targets or len(paths) > _TARGETS or len(commit.paths) > _CHANGED_FILES:
            continue
        if _BOT.search(commit.author) or any(uses[path] >= _QUESTIONS_A_FILE for path in targets):
            continue
        if not all(_is_within(path, folder) for path in paths):
            continue
        is_called = says_name(query, targets)
        if is_called and called[True] + 1 > _CALLED_SHARE * (called.total() + 1):
            continue
        called[is_called] += 1
        uses.update(targets)
        questions[query] = CommitQuestion(query, targets)
    return list(questions.values())


def _is_within(path: str, folder: str) -> bool:
    return folder == "." or path.startswith(f"{folder}/")


def question_of(subject: str) -> str:
    """Return the subject as a question, "" if it cannot be one."""
    if _ROUTINE.search(subject):
        return ""
    text = _REFERENCE.sub(" ", subject)
    text = " ".join(_REFERENCE.sub(" ", _PREFIX.sub("", text)).split()).strip(" .;,:-–")
    if _ROUTINE.search(text):
        return ""
    words = _WORD.findall(text)
    content_words = {word.lower() for word in words if not is_stopword(word.lower())} - _GENERIC
    if len(words) not in _WORDS or len(content_words) < _FEWEST_WORDS or not text.isascii():
        return ""
    return text


def says_name(query: str, paths: Collection[str]) -> bool:
    """Return whether a word of the question is the name of one of the files, or contains all words of one."""
    said = {word.lower() for word in _NAMES.findall(query)}
    stems = [PurePosixPath(path).stem for path in paths]
    joined = " ".join(word.lower() for word in _NAMES.findall(query))
    return any(
        stem.lower() in said or f" {' '.join(identifier_words(stem))} " in f" {joined} " for stem in stems
    )
