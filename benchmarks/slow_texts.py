#!/usr/bin/env python3
"""Find texts that take long: for each language's colours, for each grammar, and for each reader of texts.

    .venv/bin/python benchmarks/slow_texts.py [--size 20000] [--only WORD] [--kinds colours chunks readers]
        [--limit 2] [--output FILE]

The texts are repeated openers and mixtures of them. For each of Cairn's regular expressions, further texts
are made from its syntax tree: one of its repetitions is long and what should follow is missing, or its
beginning is repeated. Colours and chunks are measured without these. Each text is read at a quarter of the
size first, and at the full size if that took more than a 32nd of the limit, since few things grow faster than
that. The exit status is 1 if anything takes longer than the limit, in seconds of processor time.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import importlib
import itertools
import json
import os
import pkgutil
import random
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from re import _constants as kinds  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from engine.figures import run_conditions

import cairn
from cairn.languages import registry as languages
from cairn.startup.figures import processor_seconds
from cairn.text.unicode import well_formed
from cairn.web import highlighting

KINDS = ("colours", "chunks", "readers")
Operation = Callable[[str], object]
OPENERS = """
    ( [ { < ` ``` ~~~ * ** _ ' " ''' \\ / /* /** <!-- (* {- {{ {% <% <? ${ `${ #{ $( \\( @ # ## - --
    ----- = : :: | || > >> & && , ; ! ? % ^ a A a. a.a( a( a< A<A< a[ a= a:: a-> a_ aA 1 1. 1e 0x é
    段 *a _a [a]( ![ [[ [^ <a <a< </ &a; http:// <<< <<E a: a, a;a 'a "a def( fn( if( => -> :a: ..
    \\begin{ begin do class import from #if \\" \\' \\( r#" @a( $a ,( ([{ )( ]( }{ function( let in
    case => lambda
""".split()
ENDS = ("", " ", "\n", "\n\n", "\t", "a", "a\n", "\n  ")
SPACES = (" ", "\t", "\n", " \n", "\r\n", "\n\t", "\f", "\u3000")


def plain_texts(size: int) -> Iterator[str]:
    """Yield texts that repeat beginnings, nest lists, and consist of spaces."""
    for unit in (*SPACES, *OPENERS, *(opener + " " for opener in OPENERS)):
        yield _repeated(unit, size)
    for opener, end in zip(OPENERS, itertools.cycle(ENDS), strict=False):
        yield _repeated(opener + end, size // 2) + _repeated("x" + end, size // 2)
    for opener in OPENERS[::4]:
        yield f"{opener}{' ' * (size - 20)}x{opener}"
    yield "".join(f"{' ' * depth}- a\n" for depth in range(int((2 * size) ** 0.5)))
    rng = random.Random(1)
    for _ in range(12):
        yield _repeated("".join(rng.choices((*OPENERS, *SPACES), k=6)), size)


def _repeated(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


# --- texts from regular expressions ------------------------------------------------------------------------

_SAMPLES = " \t\na1A0_-.*\"'()<>/\\#`[]{}:;,=~+|&%$@!éxZ9\x00"
_REPEATS = (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT)
_LONG = 20
"""A repetition with at least this maximum can be made long."""


class _Sampler:
    """Makes texts that match a syntax tree, with one repetition as long as wanted."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def text(self, nodes: Sequence[Any], long: Any = None, size: int = 0) -> str:
        return "".join(self._of_node(node, long, size) for node in nodes)

    def _of_node(self, node: Any, long: Any, size: int) -> str:
        kind, value = node
        if kind is kinds.LITERAL:
            return chr(value)
        if kind is kinds.NOT_LITERAL:
            return self._rng.choice(_SAMPLES.replace(chr(value), ""))
        if kind is kinds.ANY:
            return self._rng.choice(_SAMPLES)
        if kind is kinds.IN:
            fitting = [sample for sample in _SAMPLES if _is_in(value, sample)]
            first = [chr(each[0] if isinstance(each, tuple) else each) for each in _ordinals(value)]
            return self._rng.choice(fitting + first or ["a"])
        if kind in _REPEATS:
            least, most, inner = value
            if node is long:
                unit = self.text(inner) or "a"
                return _repeated(unit, size)
            count = max(least, 1 if _contains(inner, long) else self._rng.choice((0, 1)))
            return "".join(self.text(inner, long, size) for _ in range(min(count, int(most), _LONG)))
        if kind is kinds.BRANCH:
            branches = value[1]
            return self.text(
                next((each for each in branches if _contains(each, long)), self._rng.choice(branches)),
                long,
                size,
            )
        if kind is kinds.SUBPATTERN:
            return self.text(value[-1], long, size)
        if kind is kinds.ATOMIC_GROUP:
            return self.text(value, long, size)
        return ""


def _ordinals(items: Sequence[Any]) -> list[Any]:
    return [value for kind, value in items if kind in (kinds.LITERAL, kinds.RANGE)]


def _is_in(items: Sequence[Any], sample: str) -> bool:
    known = {
        kinds.CATEGORY_DIGIT: str.isdigit,
        kinds.CATEGORY_SPACE: str.isspace,
        kinds.CATEGORY_WORD: lambda each: each.isalnum() or each == "_",
    }
    opposite = {
        kinds.CATEGORY_NOT_DIGIT: kinds.CATEGORY_DIGIT,
        kinds.CATEGORY_NOT_SPACE: kinds.CATEGORY_SPACE,
        kinds.CATEGORY_NOT_WORD: kinds.CATEGORY_WORD,
    }
    found = negated = False
    for kind, value in items:
        if kind is kinds.NEGATE:
            negated = True
        elif kind is kinds.LITERAL:
            found |= ord(sample) == value
        elif kind is kinds.RANGE:
            found |= value[0] <= ord(sample) <= value[1]
        elif kind is kinds.CATEGORY:
            found |= known[value](sample) if value in known else not known[opposite[value]](sample)
    return found != negated


def _inner(node: Any) -> list[Any]:
    kind, value = node
    if kind in _REPEATS:
        return [value[2]]
    if kind is kinds.BRANCH:
        return list(value[1])
    if kind is kinds.SUBPATTERN:
        return [value[-1]]
    return [value] if kind is kinds.ATOMIC_GROUP else []


def _contains(nodes: Sequence[Any], wanted: Any) -> bool:
    return wanted is not None and any(
        node is wanted or any(_contains(inner, wanted) for inner in _inner(node)) for node in nodes
    )


def _long_repeats(nodes: Sequence[Any]) -> Iterator[Any]:
    for node in nodes:
        if node[0] in _REPEATS and int(node[1][1]) >= _LONG:
            yield node
        for inner in _inner(node):
            yield from _long_repeats(inner)


def texts_of_pattern(pattern: re.Pattern[Any], size: int, tries: int = 3) -> Iterator[str]:
    """Yield texts that the pattern may take long to search."""
    source = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    tree = list(parser.parse(source, pattern.flags & ~re.DEBUG))
    sampler = _Sampler(random.Random(len(source)))
    for repeat in _long_repeats(tree):
        for _ in range(tries):
            yield sampler.text(tree, repeat, size)[:size] + "\x00"
            yield "x\n" + sampler.text(tree, repeat, size)[:size]
    for _ in range(tries):
        if text := sampler.text(tree):
            for cut in {len(text), max(1, len(text) - 1), max(1, len(text) // 2)}:
                yield _repeated(text[:cut], size)
                yield _repeated(text[:cut] + sampler._rng.choice(" \na"), size)


def patterns() -> dict[re.Pattern[Any], str]:
    """Return the regular expressions of Cairn's modules and the names of the modules."""
    found: dict[re.Pattern[Any], str] = {}
    for module in pkgutil.walk_packages(cairn.__path__, "cairn."):
        if module.name.rpartition(".")[2] != "__main__":
            for value in vars(importlib.import_module(module.name)).values():
                for pattern in _patterns_in(value, 3):
                    found.setdefault(pattern, module.name)
    return found


def _patterns_in(value: Any, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth:
        if isinstance(value, dict):
            inner: Any = value.values()
        elif isinstance(value, list | tuple | set | frozenset):
            inner = value
        elif hasattr(type(value), "__attrs_attrs__"):
            inner = [getattr(value, each.name, None) for each in type(value).__attrs_attrs__]
        else:
            inner = [cell.cell_contents for cell in getattr(value, "__closure__", None) or ()]
        for each in inner:
            yield from _patterns_in(each, depth - 1)


def slow_for_patterns(size: int, seconds: float) -> Iterator[tuple[str, str]]:
    """Yield, for each pattern of Cairn, the text that takes it longest, and one of a quarter of its length,
    if a search takes so many seconds."""
    for pattern in patterns():
        slowest: tuple[float, str, str] = 0.0, "", ""
        quarters = texts_of_pattern(pattern, size // 4)
        for text, quarter in zip(texts_of_pattern(pattern, size), quarters, strict=False):
            if slowest[0] < 0.2:
                took = used_seconds(partial(_search, pattern, quarter), 0.3)
                slowest = max(slowest, (took, text, quarter))
        if slowest[0] > seconds / 16:
            yield well_formed(slowest[1]), well_formed(slowest[2])


def _search(pattern: re.Pattern[Any], text: str) -> int:
    given: Any = text.encode("utf-8", "replace") if isinstance(pattern.pattern, bytes) else text
    return sum(1 for _ in pattern.finditer(given))


# --- what reads them ---------------------------------------------------------------------------------------


def operations(chosen: Sequence[str]) -> Iterator[tuple[str, str, Operation]]:
    """Yield the kind, the name and the function of each operation."""
    if "colours" in chosen:
        yield from (
            ("colours", language, _colours(language)) for language in sorted(languages.KNOWN_LANGUAGES)
        )
    if "chunks" in chosen:
        yield from (("chunks", language, chunks_of(path)) for language, path in sorted(_paths().items()))
    if "readers" in chosen:
        yield from (("readers", name, function) for name, function in readers().items())


def _colours(language: str) -> Operation:
    from cairn.web.code_markup import code_lines

    return lambda text: code_lines(text, language, "a")


def chunks_of(path: str) -> Operation:
    from cairn.chunking.chunker import chunk_file

    return lambda text: chunk_file(path, text)


def _paths() -> dict[str, str]:
    """Return a path for each language that files have."""
    names = [*(f"a.{each}" for each in languages._BY_ENDING), *languages._BY_FILE]
    return {language: name for name in names if (language := languages.detect_language(name))}


def readers() -> dict[str, Operation]:
    """Return what reads texts of a repository or a query, by name."""
    from cairn.agents.place_text import place_named
    from cairn.chunking.comments import comment_text
    from cairn.clients import jsonc
    from cairn.discovery.categories import categorize
    from cairn.discovery.statements import (
        code_statements,
        prose_statements,
        reads_as_statement,
        split_sentences,
    )
    from cairn.languages.registry import LANGUAGES
    from cairn.retrieval import document_names, evidence_lines
    from cairn.retrieval.mentions import read_trace
    from cairn.retrieval.query import understand
    from cairn.retrieval.report import read_report
    from cairn.schema import strict_json
    from cairn.settings.sources import toml_layer
    from cairn.text.inline_markup import strip_inline
    from cairn.text.sketch import sketch
    from cairn.text.verbatim import lines_of, stands_in, without_mark
    from cairn.text.words import text_stems
    from cairn.web.code_markup import code_lines
    from cairn.workspace import builtin_rules
    from cairn.workspace.collections import MANIFESTS, find_projects
    from cairn.workspace.ignore_patterns import PatternList, path_key

    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    settings = folder / ".cairn.toml"

    def written(path: Path, read: Operation) -> Operation:
        def write_and_read(text: str) -> object:
            path.write_text(text, encoding="utf-8")
            try:
                return read(text)
            finally:
                path.unlink()

        return write_and_read

    def each_line(read: Operation) -> Operation:
        return lambda text: [read(line) for line in lines_of(text)]

    def ignored(text: str) -> object:
        patterns = PatternList.of_file(text.encode())
        paths = ("a" * 200, "a/" * 100 + "b", path_key(text[:200].replace("\n", "a").replace("\0", "a")))
        return [patterns.match(path, path.rpartition("/")[2], False) for path in paths]

    found: dict[str, Operation] = {
        "inline markup": strip_inline,
        "sentences": split_sentences,
        "prose passages": lambda text: prose_statements(text, "rst"),
        "prose passages of Markdown": lambda text: prose_statements(text, "markdown"),
        "category of a sentence": categorize,
        "statement": reads_as_statement,
        "code passages": lambda text: code_statements(text, text[:300], text[:600]),
        "comment": comment_text,
        "comment of a header": lambda text: comment_text(text, is_header=True),
        "marks of comments": each_line(without_mark),
        "verbatim": lambda text: stands_in(text[:200], lines_of(text)),
        "sketch": sketch,
        "stems": text_stems,
        "query": understand,
        "report": lambda text: read_report(text[:10_000]),
        "trace": lambda text: read_trace(text[:10_000]),
        "names in documents": lambda text: document_names._read("a.md", 0, False, "", text),
        "options": each_line(evidence_lines.reads_option),
        "tests": each_line(evidence_lines.begins_test),
        "definitions": each_line(evidence_lines.defines_or_imports),
        "comments": each_line(evidence_lines.is_comment),
        "content rules": lambda text: builtin_rules.decide_content("a.txt", text),
        "file name": lambda text: builtin_rules.decide_file_path(text[:255].replace("\n", "a")),
        "ignore file": ignored,
        "language": lambda text: languages.language_of("a.h", text),
        "language of a script": lambda text: languages.language_of("a", text),
        "language of a fence": languages.language_of_fence,
        "place": _unless(Exception, place_named),
        "JSON": _unless(strict_json.MalformedJsonError, lambda text: strict_json.loads(text.encode())),
        "JSON with comments": _unless(Exception, jsonc.parse),
        "notebook": lambda text: chunks_of("a.ipynb")(
            json.dumps({"cells": [{"cell_type": kind, "source": text} for kind in ("markdown", "code")]})
        ),
        "settings": written(settings, _unless(Exception, lambda _: toml_layer(settings, "folder", folder))),
        "words to mark": lambda text: code_lines(text, "text", "a.txt", text.split()[:32]),
    }
    found |= {
        f"manifest {name}": written(
            folder / name, partial(lambda name, _: find_projects(folder, [name]), name)
        )
        for name in MANIFESTS
    }
    names = {name for name, each in LANGUAGES.items() if each.imports is not None}
    names.update(*(each.imports.manifests for each in LANGUAGES.values() if each.imports is not None))
    found |= {f"imports, {name}": partial(_imports, name) for name in names}
    return found


def _imports(name: str, text: str) -> object:
    from cairn.workspace.import_graph import read_imports

    return read_imports(name, name, text)


def _unless(kind: type[Exception], read: Operation) -> Operation:
    def read_or_refuse(text: str) -> object:
        with contextlib.suppress(kind):
            return read(text)

    return read_or_refuse


# --- measuring -------------------------------------------------------------------------------------------


class _TooLong(BaseException):
    pass


def used_seconds(work: Callable[[], object], limit: float) -> float:
    """Return the processor time that `work` and the processes that it ends take, at most about `limit`."""
    before = _seconds()

    def stop(*_: object) -> None:
        if _seconds() - before > limit:  # Work that catches everything is stopped again.
            raise _TooLong

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, limit, 0.1)
    try:
        work()
    except _TooLong:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
    return _seconds() - before


def _seconds() -> float:
    highlighters = sum(processor_seconds(process.pid) for process in highlighting._started)
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system + highlighters


def slowest(
    operation: Operation, texts: Iterator[str] | Sequence[str], quarters: Sequence[str], limit: float
) -> tuple[float, str]:
    """Return the longest processor time and its text."""
    found = 0.0, ""
    for quarter, text in zip(quarters, texts, strict=True):
        if used_seconds(partial(operation, quarter), limit) > limit / 32:
            found = max(found, (used_seconds(partial(operation, text), 2 * limit), text))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--limit", type=float, default=2.0)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--only", default="", help="part of the names to measure")
    parser.add_argument("--no-patterns", action="store_true", help="without texts from regular expressions")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    texts, quarters = (list(plain_texts(size)) for size in (options.size, options.size // 4))
    pairs = [] if options.no_patterns else list(slow_for_patterns(options.size, 0.05))
    shown: dict[str, Any] = {
        "conditions": {
            **run_conditions(),
            "size": options.size,
            "texts": len(texts),
            "of_patterns": len(pairs),
        },
        "slowest": {},
    }
    for kind, name, operation in operations(options.kinds):
        if options.only not in name:
            continue
        more = pairs if kind == "readers" else []
        own = [*texts, *(text for text, _ in more)], [*quarters, *(quarter for _, quarter in more)]
        seconds, text = slowest(operation, *own, options.limit)
        if seconds:
            shown["slowest"][f"{kind} {name}"] = {"seconds": round(seconds, 2), "text": text[:60]}
            print(f"{seconds:6.2f} s  {kind} {name}: {text[:40]!r}", flush=True)
    highlighting.close()
    if options.output:
        options.output.write_text(json.dumps(shown, indent=2) + "\n", encoding="utf-8")
    sys.exit(any(each["seconds"] > options.limit for each in shown["slowest"].values()))


if __name__ == "__main__":
    main()
