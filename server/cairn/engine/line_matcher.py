"""Finds the lines that contain a text or match a regular expression, and texts that such a line must contain.

Each line is matched on its own. Expressions use the library `regex`, because its matches have a time limit. A
match of the standard library cannot be stopped, and some expressions would block the whole process.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

from attrs import frozen

from cairn.errors import InvalidRequestError, OutOfTimeError
from cairn.index.reader.exact import Literal
from cairn.text.unspaced import IN_WORD
from cairn.text.verbatim import lines_of

_FIELD = "query"
_MOST_CHARACTERS = 4_000
_SECONDS = 0.25
"""The time limit of one match, during which other threads wait. A common expression takes 2 µs in a line."""
_MOST_ALTERNATIVES = 20
"""The maximum number of alternative texts that are looked up in the index for an expression."""
_LEAST_WORTH = 4
"""The minimum `_worth` of a required text. The index cannot find shorter texts, which are in many chunks."""
_OWN_SYNTAX = re.compile(r"\[\[|(?<!\\)\{(?!\d*,?\d*\})|\(\?[^:=!<>Paimsux()-]")
"""Syntax that `regex` reads differently from the standard library, whose parser finds the required texts."""

Spans = Sequence[tuple[int, int]]


@frozen(eq=False)
class LineMatcher:
    """Raises OutOfTimeError for an expression that takes too long in a line."""

    literals: Sequence[Literal]
    """Every matching line contains at least one of these texts, perhaps in another case. No literals means
    that none are known."""
    is_possible: Callable[[str], bool]
    """Returns quickly whether a text may contain a line that matches, in any case."""
    spans: Callable[[str], Spans]
    """Returns the offsets `[start, end)` of each match in a line; empty if the line does not match."""
    has_other_case: Callable[[str], bool] | None
    """Returns whether a line matches if the case is ignored; None if such lines are not counted."""
    text: str = ""
    """A text that every matching line contains as it is, if one is known."""
    may_differ_in_case: Callable[[str], bool] = lambda _: True
    """Returns quickly whether a text may contain lines that match only if the case is ignored."""

    def matching(self, text: str) -> Iterator[tuple[int, str, Spans]]:
        """Yield the 0-based number, the text and the spans of each line that matches."""
        if self.is_possible(text):
            for number, line in enumerate(_lines(text)):
                if self.text in line and (spans := self.spans(line)):
                    yield number, line, spans

    def count(self, text: str) -> tuple[int, int]:
        """Return how many lines match, and how many others do in another case."""
        if not self.is_possible(text):
            return 0, 0
        lines, has_other_case = _lines(text), self.has_other_case
        same = sum(1 for line in lines if self.text in line and self.spans(line))
        if has_other_case is None or not self.may_differ_in_case(text):
            return same, 0
        return same, sum(1 for line in lines if has_other_case(line) and not self.spans(line))


def _lines(text: str) -> Sequence[str]:
    """Return the lines of a text, without the empty one that would follow the end of its last line."""
    lines = lines_of(text)
    return lines[:-1] if not lines[-1] else lines


def text_matcher(text: str, *, ignore_case: bool = False, whole_word: bool = False) -> LineMatcher:
    """Return the matcher of lines with `text`. Raise InvalidRequestError for a text that no line can have."""
    _check(text)
    # A text that begins or ends with another character cannot be inside a longer word there.
    before = rf"(?<!{IN_WORD})" if whole_word and re.match(IN_WORD, text) else ""
    after = rf"(?!{IN_WORD})" if whole_word and re.match(IN_WORD, text[-1]) else ""
    source, folded = f"{before}{re.escape(text)}{after}", text.casefold()
    any_case = re.compile(source, re.IGNORECASE)
    exact = any_case if ignore_case else re.compile(source)

    def has_other_case(line: str) -> bool:
        return folded in line.casefold() and any_case.search(line) is not None

    return LineMatcher(
        literals=(Literal(text, word=whole_word),),
        is_possible=lambda chunk: folded in chunk.casefold(),
        spans=lambda line: [match.span() for match in exact.finditer(line)],
        has_other_case=None if ignore_case else has_other_case,
        text="" if ignore_case else text,
        may_differ_in_case=lambda chunk: chunk.casefold().count(folded) > chunk.count(text),
    )


def expression_matcher(source: str, *, ignore_case: bool = False, whole_word: bool = False) -> LineMatcher:
    """Return the matcher of lines in which a regular expression matches. Raise InvalidRequestError if it is
    invalid."""
    import regex  # Only this kind of search needs it.

    _check(source)
    whole = rf"(?<!{IN_WORD})(?:{source})(?!{IN_WORD})" if whole_word else source
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            regex.compile(source)  # Its error has the position in the expression as it was given.
            any_case = regex.compile(whole, regex.IGNORECASE)
            exact = any_case if ignore_case else regex.compile(whole)
    except (regex.error, ValueError, OverflowError, RecursionError) as problem:
        raise InvalidRequestError(
            _FIELD, f"is not a valid regular expression ({problem}); to find it as text, leave out `regex`"
        ) from None

    texts = required_texts(source)
    folded = [text.strip().casefold() for text in texts]
    # Without required texts, most lines would be matched twice.
    counts_other_case = bool(texts) and not ignore_case
    flags = [regex.IGNORECASE if ignore_case else 0, *([regex.IGNORECASE] if counts_other_case else [])]
    in_texts = [regex.compile(whole, regex.MULTILINE | each) for each in flags if matches_in_texts(source)]

    def has_text(text: str) -> bool:
        in_any_case = text.casefold()
        return not folded or any(each in in_any_case for each in folded)

    def is_possible(text: str) -> bool:
        if not has_text(text):
            return False
        return not in_texts or any(_may_be_in_line(each, text) for each in in_texts)

    return LineMatcher(
        literals=tuple(map(Literal, texts)),
        is_possible=is_possible,
        spans=lambda line: _spans(exact, line) if has_text(line) else (),
        has_other_case=(lambda line: has_text(line) and bool(_spans(any_case, line)))
        if counts_other_case
        else None,
    )


def _spans(expression: Any, line: str) -> Spans:
    try:
        if expression.search(line, timeout=_SECONDS) is None:
            return ()
        return [match.span() for match in expression.finditer(line, timeout=_SECONDS)]
    except TimeoutError:
        raise OutOfTimeError("The expression takes too long in one line; write it more simply.") from None


def _may_be_in_line(expression: Any, text: str) -> bool:
    """Return false if no line of a text matches. One match of a chunk is faster than one of each line."""
    try:
        return "\r" in text or expression.search(text, timeout=_SECONDS) is not None
    except TimeoutError:
        return True  # Its lines are shorter.


def _check(query: str) -> None:
    if not query.strip():
        raise InvalidRequestError(_FIELD, "is empty; give the text to find")
    if "\n" in query or "\r" in query:
        raise InvalidRequestError(_FIELD, "has a line break, but each line is searched alone; give one line")
    if len(query) > _MOST_CHARACTERS:
        raise InvalidRequestError(
            _FIELD, f"expected {_MOST_CHARACTERS:,} characters at most, got {len(query):,}"
        )


# --- what an expression requires -----------------------------------------------------------------------


def required_texts(source: str) -> tuple[str, ...]:
    """Return texts of which every match of a regular expression contains at least one, perhaps in another
    case; () if none of use are known. A space at an end of a text may stand for the end of a word."""
    parsed = _parsed(source)
    texts = () if parsed is None else _best(parsed)
    return texts if texts and min(map(_worth, texts)) >= _LEAST_WORTH else ()


def matches_in_texts(source: str) -> bool:
    """Return whether an expression that matches in a line certainly matches in every text with this line, if
    `^` and `$` match at the ends of lines. The text may have further matches, across lines.

    Lookarounds, possessive repeats and the ends of the text could make a difference.
    """
    parsed = _parsed(source)
    return parsed is not None and _is_local(parsed)


def _parsed(source: str) -> Any | None:
    """Return the expression as the standard library parses it; None if `regex` may read it differently."""
    if _OWN_SYNTAX.search(source):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return _parser.parse(source)
    except (re.error, Warning, OverflowError, RecursionError):
        return None


_CHARACTERS = (
    _constants.LITERAL,
    _constants.NOT_LITERAL,
    _constants.ANY,
    _constants.IN,
    _constants.GROUPREF,
)


def _is_local(sequence: Any) -> bool:
    for kind, value in sequence:
        if kind is _constants.SUBPATTERN:
            inside = [value[-1]]
        elif kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            inside = [value[2]]
        elif kind is _constants.BRANCH:
            inside = value[1]
        elif kind in _CHARACTERS or (kind is _constants.AT and value in _ENDS_OF_WORDS):
            continue
        else:
            return False
        if not all(map(_is_local, inside)):
            return False
    return True


def _best(sequence: Any) -> tuple[str, ...]:
    """Return the alternatives, the shortest of which is longest, that one part of a sequence requires."""
    found = [texts for texts in _required(sequence) if len(texts) <= _MOST_ALTERNATIVES]
    return max(found, key=lambda texts: (min(map(_worth, texts)), -len(texts)), default=())


def _worth(text: str) -> int:
    """Return how useful a text is to find chunks: 2 for each letter or digit, 1 for another character."""
    return sum(2 if character.isalnum() else 1 for character in text.strip())


def _required(sequence: Any) -> Iterator[tuple[str, ...]]:
    """Yield, for each part of a parsed sequence that must match, the texts of which it contains one."""
    run, is_at_end = "", False
    for kind, value in [*sequence, (None, None)]:
        if kind is _constants.LITERAL:
            # A word that surely begins here is found in the index by itself, and not inside other words.
            run += f" {chr(value)}" if is_at_end and _is_word(chr(value)) else chr(value)
            is_at_end = False
            continue
        is_at_end = kind is _constants.AT and value in _ENDS_OF_WORDS
        if run.strip():
            yield (f"{run} " if is_at_end and _is_word(run[-1]) else run,)
        run = ""
        if kind is _constants.SUBPATTERN:
            yield from _required(value[-1])
        elif kind is _constants.ATOMIC_GROUP:
            yield from _required(value)
        elif kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
            least, _, repeated = value
            if least:
                yield from _required(repeated)
        elif kind is _constants.BRANCH:
            branches = [_best(branch) for branch in value[1]]
            if all(branches):
                yield tuple(dict.fromkeys(chain.from_iterable(branches)))


_ENDS_OF_WORDS = (_constants.AT_BOUNDARY, _constants.AT_BEGINNING, _constants.AT_END)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
