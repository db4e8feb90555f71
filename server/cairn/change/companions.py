"""Rank what usually changes with a change, and did not.

Each file gets the weighted sum of what connects it with the change. The weights were chosen with half of the
repositories of `benchmarks/change`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from posixpath import dirname

from cairn.change.evidence import Concerned, Evidence, Use, chance
from cairn.change.names import is_same_name, likeness, path_words, stem_of
from cairn.index.reader.filters import ChunkFilter
from cairn.index.store.deadline import check_end
from cairn.workspace.collections import FileKind

TOGETHER, RECENT, USES, OWNER, INDIRECT, USED, IMPORTS, IMPORTED, TWIN, PATH, FOLDER, WORDS, TEXT, MEANING = (
    "together", "recent", "uses", "owner", "indirect", "used", "imports", "imported", "twin", "path",
    "folder", "words", "text", "meaning",
)  # fmt: skip
WEIGHTS: Mapping[str, float] = {
    TOGETHER: 1.2, RECENT: 0.6, USES: 0.2, OWNER: 0.05, INDIRECT: 0.05, USED: 0.25, IMPORTS: 0.05,
    IMPORTED: 0.25, TWIN: 0.5, PATH: 0.4, FOLDER: 0.05, WORDS: 0.05, TEXT: 1.0, MEANING: 0.5,
}  # fmt: skip
_EVIDENCE = frozenset({TOGETHER, USES, OWNER, INDIRECT, USED, IMPORTS, IMPORTED, TWIN, TEXT})
"""The signals of which a shown companion has at least one."""
_CALLS = 0.5
"""The confidence from which a reference is the kind of a companion, whatever else connects it."""
_HALF, _SLOPE = 2.0, 3.0
"""The score of files of which half belonged to their commits, and how fast the share grows there."""
_LEAST = 0.6
"""The minimum score of a shown companion. Of those below, one in 500 belonged to its commit."""
_CHANGELOG = re.compile(
    r"(?:^|/)(?:change(?:s|log)|history|news|release[_-]?notes)\b[^/]*$|(?:^|/)newsfragments?/", re.I
)
_SCHEMA = re.compile(
    r"(?:^|/)(?:migrations?|migrate)/|(?:^|/)schema\.\w+$|\.(?:proto|graphql|prisma|sql|thrift)$", re.I
)
_GENERATED = re.compile(
    r"\.pb\.\w+$|_pb2?\.\w+$|\.g(?:en(?:erated)?)?\.\w+$|_generated\.\w+$|_gen\.go$|\.snap$"
)


_PROOF = (USES, TOGETHER, TWIN, USED, INDIRECT, IMPORTED, IMPORTS, OWNER, WORDS, TEXT)
"""The order of reasons: how much each of them proves to a reader."""


def companions(evidence: Evidence, limit: int) -> Iterator[Concerned]:
    """Yield the files outside of the change and of the tests that have most to do with it, best first.

    If the time is over before all references are looked up, those found count. Then, OutOfTimeError is raised
    after the last file.
    """
    signals = companion_signals(evidence)
    scores = {
        path: sum(WEIGHTS[name] * value for name, value in values.items()) for path, values in signals.items()
    }
    wanted = (path for path, score in scores.items() if score >= _LEAST)
    for path in sorted(wanted, key=lambda path: (-scores[path], path))[:limit]:
        yield _shown(evidence, path, signals[path], scores[path])
    check_end()


def companion_signals(evidence: Evidence) -> dict[str, dict[str, float]]:
    """Return the value of each signal of each file with evidence, 0 to 1, without zeros."""
    only = ChunkFilter(collections=evidence.collections(tests=False))
    texts, nearest = evidence.text.by_words(only), evidence.text.by_meaning(only)
    changed = {path for file in evidence.change.files for path in (file.path, file.before_path) if path}
    stems = {stem for path in evidence.paths if (stem := stem_of(path))}
    twins = {path for path in evidence.kinds if stem_of(path) in stems}
    folders = {dirname(path) for path in evidence.paths}
    words = [path_words(path) for path in evidence.paths]
    defines, mentions = evidence.text.defines, evidence.text.mentions
    by_file = (evidence.together, evidence.uses, evidence.uses_of_owners, evidence.indirect_uses)
    imports = (evidence.importers, evidence.imported)
    found: dict[str, dict[str, float]] = {}
    for path in twins.union(*by_file, *imports, defines, texts) - changed:
        if evidence.kinds.get(path, FileKind.TESTS) == FileKind.TESTS:
            continue
        own = path_words(path)
        values = {
            TOGETHER: evidence.togetherness(path),
            RECENT: evidence.recency(path),
            USES: _best(evidence.uses.get(path, ())),
            OWNER: _best(evidence.uses_of_owners.get(path, ())),
            INDIRECT: _best(evidence.indirect_uses.get(path, ())),
            USED: defines[path].share if path in defines else 0.0,
            IMPORTS: float(path in evidence.importers),
            IMPORTED: float(path in evidence.imported),
            TWIN: float(path in twins),
            PATH: max((likeness(own, other) for other in words), default=0.0),
            FOLDER: float(dirname(path) in folders),
            WORDS: mentions[path].share if path in mentions else 0.0,
            TEXT: texts.get(path, (0.0, 0))[0],
            MEANING: nearest.get(path, (0.0, 0))[0],
        }
        found[path] = {name: value for name, value in values.items() if value > 0}
    return found


def _best(uses: Iterable[Use]) -> float:
    return max((use.confidence for use in uses), default=0.0)


# --- as shown ------------------------------------------------------------------------------------------


def _shown(evidence: Evidence, path: str, values: Mapping[str, float], score: float) -> Concerned:
    weighed = sorted(values, key=lambda name: -WEIGHTS[name] * values[name])
    reasons = dict.fromkeys(_reason(evidence, path, name) for name in _PROOF if name in values)
    reasons.pop("", None)
    uses = sorted(evidence.uses.get(path, ()), key=lambda use: (-use.confidence, use.edge.line))
    kind = next(name for name in weighed if name in _EVIDENCE)
    if values.get(USES, 0.0) >= _CALLS:
        kind = USES
    elif TWIN in values:
        kind = TWIN
    line, symbol = 0, ""
    is_document = evidence.kinds.get(path) == FileKind.DOCS
    if uses:
        around = uses[0].edge.enclosing
        line, symbol = uses[0].edge.line, around.qualified if around else ""
    elif is_document and (named := evidence.text.line_with_name(path)):
        line = named[0]
        reasons = {f"names `{named[1]}`": None, **reasons}
    elif USED in values or WORDS in values or TEXT in values:
        line, symbol = evidence.text.likeliest_passage(path)
    return Concerned(
        path,
        line,
        symbol,
        _kind(evidence, path, kind),
        tuple(reasons)[:3],
        round(1 - (1 - chance(score, _HALF, _SLOPE)) * (1 - 0.6 * values.get(USES, 0.0)), 2),
        tuple(dict.fromkeys(use.about for use in uses)),
    )


def _kind(evidence: Evidence, path: str, signal: str) -> str:
    """Return the `kind` of a ChangePlace: what the file is if that says more than what connects it."""
    for pattern, kind in ((_CHANGELOG, "changelog"), (_GENERATED, "generated"), (_SCHEMA, "schema")):
        if pattern.search(path):
            return kind
    if evidence.kinds.get(path) == FileKind.DOCS:
        return "document"
    if signal == TWIN:
        return "twin"
    if signal in (USES, OWNER, INDIRECT, USED, IMPORTS, IMPORTED):
        return "reference"
    return "together" if signal == TOGETHER else "words"


def _reason(evidence: Evidence, path: str, signal: str) -> str:
    """Return why a file belongs to the change, by one signal; "" if it says nothing to a reader."""
    if signal == TOGETHER:
        return evidence.how_often(path)
    if signal in (USES, OWNER):
        uses = (evidence.uses if signal == USES else evidence.uses_of_owners)[path]
        return f"uses `{max(uses, key=lambda use: use.confidence).edge.name}`"
    if signal == INDIRECT:
        use = max(evidence.indirect_uses[path], key=lambda use: use.confidence)
        return f"calls it through `{use.through.qualified}`" if use.through else ""
    if signal == USED:
        return "defines " + _quoted(evidence.text.defines[path].rarest)
    if signal in (WORDS, TEXT) and path in evidence.text.mentions:
        return "mentions " + _quoted(evidence.text.mentions[path].rarest)
    if signal == IMPORTS:
        return f"imports `{evidence.importers[path][0]}`"
    if signal == IMPORTED:
        return f"is imported by `{evidence.imported[path][0]}`"
    if signal == TWIN:
        other = next(each for each in evidence.paths if is_same_name(each, path))
        return f"has the name of `{other}`"
    return "has many words of the change" if signal == TEXT else ""


def _quoted(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)
