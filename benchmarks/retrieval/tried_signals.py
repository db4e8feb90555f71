"""Signals that were tried and are off, for they did nothing or harm (docs/ranking.md): S5's and S3's heuristics among them.

Each stays what its document says, as a number that is added: a factor there is its logarithm here.
"""

from __future__ import annotations

import itertools
import math
import re
import time

from cairn.retrieval.candidates import FileCandidate
from cairn.retrieval.scores import Asked, Family, Signal, each, top
from cairn.text.words import text_stems
from cairn.workspace.collections import FileKind

_YEAR_S = 365 * 24 * 3600

# S5, priority 5, for the languages that have such words.
_TYPE_DEFINITION = re.compile(
    r"\b(?:pub|public|export|abstract)\s+(?:\w+\s+)*?(?:struct|enum|class)\b|^class\s", re.MULTILINE
)
_IMPLEMENTATION = re.compile(r"\bimpl\b|\bimplements\b|\bextends\b|^\s+def __init__\(", re.MULTILINE)
_TRAIT = re.compile(r"\b(?:trait|interface|protocol)\s+\w")
_ENTRY = re.compile(
    r"\bfn main\(|\bpub fn new\(|\bfunc main\(|\bdef main\(|\bint main\(|\bstatic void main\("
)
_PUBLIC = re.compile(
    r"\b(?:pub|public|export)\s+(?:\w+\s+)*?(?:fn|struct|enum|class|function|interface|const)\b"
)
_MODULE_DOC = ("//!", '"""', "'''", "/**")
# S5, priority 4.
_SPECIFICATION = re.compile(r"(?:^|/)[^/]*spec[^/]*\.md$", re.IGNORECASE)
_README = re.compile(r"(?:^|/)readme[^/]*$", re.IGNORECASE)


def _text(asked: Asked, file: FileCandidate) -> str:
    return asked.texts.get((file.folder, file.path), "")


def _shallow(_: Asked, file: FileCandidate) -> float:
    return 1 / (1 + 0.1 * len(file.path.split("/")))


def _not_tiny(_: Asked, file: FileCandidate) -> float:
    return 0.3 if file.facts.size < 100 else 0.7 if file.facts.size < 500 else 1.0


def _recent(_: Asked, file: FileCandidate) -> float:
    age = max(0.0, time.time() - file.facts.last_commit) / _YEAR_S
    return math.exp(-age / 2) if file.facts.last_commit else 0.0


def _words_in_path(asked: Asked, file: FileCandidate) -> float:
    """S5, priority 2: 1.4 for each word of the question that the path contains, 1.2 more where a folder does."""
    words = [word for word in asked.query.text.lower().split() if len(word) > 3]
    path = file.path.lower()
    folders = path.rpartition("/")[0]
    return sum(math.log(1.4) * (word in path) + math.log(1.2) * (word in folders) for word in words)


def _density(asked: Asked, file: FileCandidate) -> float:
    """S5, priority 2: a tenth for each word of the question in the text, up to half."""
    text = _text(asked, file).lower()
    words = [word for word in asked.query.text.lower().split() if len(word) > 3]
    return math.log(min(1.5, 1 + 0.1 * sum(word in text for word in words)))


def _patterns(asked: Asked, file: FileCandidate) -> float:
    text = _text(asked, file)
    factor = 1.0
    if _IMPLEMENTATION.search(text) and _TYPE_DEFINITION.search(text):
        factor *= 1.3
    if _TRAIT.search(text):
        factor *= 1.2
    if _ENTRY.search(text):
        factor *= 1.25
    if len(_PUBLIC.findall(text)) > 5:
        factor *= 1.2
    if text.lstrip().startswith(_MODULE_DOC):
        factor *= 1.15
    return math.log(factor)


def _documents_by_content(asked: Asked, file: FileCandidate) -> float:
    """S5, priority 4, where 1 is a document that counts nothing: specifications, READMEs, then texts without code."""
    if file.kind != FileKind.DOCS:
        return 0.0
    if _README.search(file.path):
        return 0.95
    if _SPECIFICATION.search(file.path):
        return 0.97
    text = _text(asked, file)
    return 0.7 if "```" in text else 0.6 if "## API" in text or "### Methods" in text else 0.9


def _whole_question(asked: Asked, file: FileCandidate) -> float:
    """S3, task 014: the question stands in the text, and at its beginning."""
    text, question = _text(asked, file).lower(), asked.query.text.lower()
    beginning = "\n".join(text.splitlines()[:3])
    return math.log(1.2) * (question in text) + math.log(1.1) * (question in beginning)


def _long(asked: Asked, file: FileCandidate) -> float:
    return float(_text(asked, file).count("\n") > 150)


def _coverage(asked: Asked, file: FileCandidate) -> float:
    """Share of the question's words that the shown chunk holds."""
    held = text_stems(_text(asked, file))
    return sum(stem in held for stem in asked.query.stems) / (len(asked.query.stems) or 1)


def _proximity(asked: Asked, file: FileCandidate) -> float:
    """How close together two different words of the question stand in the text, nearest pair."""
    words = re.findall(r"\w+", _text(asked, file).lower())
    places = [(place, word) for place, word in enumerate(words) if word in asked.query.terms]
    gaps = [b - a for (a, x), (b, y) in itertools.pairwise(places) if x != y]
    return 1 / min(gaps) if gaps else 0.0


_names_decayed = top(lambda chunks: chunks.definition, tuple(0.7**place for place in range(8)))

TRIED: tuple[Signal, ...] = (
    Signal("shallow path (S5)", 0.0, Family.FILE, each(_shallow)),
    Signal("not tiny (S5)", 0.0, Family.FILE, each(_not_tiny)),
    Signal("words in the path (S5)", 0.0, Family.KEYWORD, each(_words_in_path)),
    Signal("words in the text (S5)", 0.0, Family.KEYWORD, each(_density), needs_text=True),
    Signal("code patterns (S5)", 0.0, Family.FILE, each(_patterns), needs_text=True),
    Signal(
        "documents by content (S5)",
        0.0,
        Family.FILE,
        each(_documents_by_content),
        relative=False,
        needs_text=True,
        trial_weight=-1.0,
    ),
    Signal("recently changed", 0.0, Family.FILE, each(_recent), needs_history=True),
    Signal(
        "often changed",
        0.0,
        Family.FILE,
        each(lambda _, file: math.log1p(file.facts.commits)),
        needs_history=True,
        trial_weight=0.5,
    ),
    Signal("whole question in the text (S3)", 0.0, Family.KEYWORD, each(_whole_question), needs_text=True),
    Signal(
        "long chunk (S3)", 0.0, Family.FILE, each(_long), relative=False, needs_text=True, trial_weight=-0.2
    ),
    Signal("share of the words in the text", 0.0, Family.KEYWORD, each(_coverage), needs_text=True),
    Signal("words close together", 0.0, Family.KEYWORD, each(_proximity), needs_text=True, trial_weight=0.5),
    Signal("names in its best eight chunks", 0.0, Family.KEYWORD, _names_decayed),
)
