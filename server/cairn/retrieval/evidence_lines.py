"""Recognise lines that answer certain kinds of questions: an option, a call, a test, a message."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rapidfuzz.distance import LCSseq

_READS_OPTION = re.compile(
    r"""getenv|environ\b|process\.env|env::var|ENV\[|System\.getProperty|LookupEnv|import\.meta\.env|\benv\(
        |add_argument|add_option|\.option\(|flag\.(?:String|Bool|Int)|[Vv]iper\.|config(?:ure)?\b|settings?\b|options?\b|opts?\b""",
    re.VERBOSE,
)
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b")
_TEST_HEAD = re.compile(
    r"""^\s*(?:(?:async\s+)?def\s+test|(?:x|f)?(?:it|test|describe|context|specify|should)\b\s*[(.'"{]|@Test\b|\#\[(?:\w+::)?test\]
        |func\s+Test|(?:public\s+)?(?:void|fun)\s+test|TEST(?:_F|_P|_CASE|_IMPL)?\(|\[(?:Fact|Theory|Test)|public\s+function\s+test)""",
    re.VERBOSE,
)
_MOST_CHARACTERS = 200
"""How many characters of a line are read, without its indentation. The patterns could take quadratic time on
longer lines, as in minified code."""
_COMMENT = re.compile(
    r"\s*(?://|/\*|\*(?=[\s/*]|\Z)|--|\"{3}|#(?!\s*(?:define|undef|include|if|ifn?def|el(?:se|if)|endif|pragma|error)\b|!?\[))"
)
"""Matches comments, but neither preprocessor lines nor attributes."""
_BEGIN_COMMENTS = frozenset('/*-"#')
"""The characters with which a match begins. Most lines begin with another one."""
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"|\'((?:[^\'\\\n]|\\.){6,})\'|`((?:[^`\\]|\\.)*)`|\\.')
"""Matches a string literal. An escaped quote outside of literals is matched too, as it does not begin one."""
_PLACEHOLDER = re.compile(
    r"%[-+#0-9.*]*[a-zA-Z]|\$?\{[^{}]*\}|\$\w+|\{\}|\\\([^)\n]{0,80}\)|#\{[^}]{0,80}\}|<\w+>|\\[nrt]|@\w+"
)
_WORD = re.compile(r"[^\W_]+")
_FEWEST_LITERAL_WORDS = 3
_FULL_MATCH_WORDS = 6


def reads_option(line: str) -> bool:
    return bool(_READS_OPTION.search(line) or _VARIABLE.search(line))


def begins_test(line: str) -> bool:
    return bool(_TEST_HEAD.match(line))


def uses(names: Sequence[str]) -> re.Pattern[str] | None:
    """Return a pattern that matches lines which call or read one of `names`; None without names."""
    if not names:
        return None
    either = "|".join(map(re.escape, names))
    return re.compile(rf"(?<![\w$])(?:{either})(?![\w$])")


_IMPORTS = re.compile(
    r"\s*(?:from\b.*\bimport\b|(?:pub(?:\(\w+\))?\s+)?(?:import|use(?!\()|require)\b|#\s*include\b|export\s*\{"
    r"|using\s+[\w.= ]+;|(?:const|let|var)\s[^=]*=\s*require\()"
)
_BEGIN_IMPORTS = frozenset("fpiur#eclv")
"""The characters with which a match begins."""
_OPENS_IMPORTS = re.compile(
    r"\s*(?:(?:from\s+\S+\s+)?import\s*\(|(?:import|use|pub(?:\(\w+\))?\s+use)\s[^();]*\{|export\s*\{)\s*$"
)
_DEFINES = re.compile(
    r"(?:[\w$@*&<>()\[\],.:]+\s+)*(?:(?:def(?:p|macrop?|module|delegate|impl)?|func|fun|fn|class|interface|trait|type|macro_rules!|#\s*define)\s+[\w(<&]"
    r"|(?:struct|enum)\b(?!.*=)|function\b)"
    r"|extern\b|\*|//|#\s|--"
)


def defines_or_imports(line: str) -> bool:
    beginning = line.lstrip()[:_MOST_CHARACTERS]
    return bool(_DEFINES.match(beginning) or _IMPORTS.match(beginning))


def imports(line: str) -> bool:
    return line.lstrip()[:1] in _BEGIN_IMPORTS and bool(_IMPORTS.match(line))


def import_lines(lines: Sequence[str]) -> frozenset[int]:
    """Return the indices of the lines that import something, with those in brackets that an import opens."""
    found, is_within = set[int](), False
    for number, line in enumerate(lines):
        if is_within or imports(line):
            found.add(number)
            is_within = not set(line) & set(")}") if is_within else bool(_OPENS_IMPORTS.match(line))
    return frozenset(found)


def is_comment(line: str) -> bool:
    """Return whether the line is a comment, or begins a docstring."""
    return line.lstrip()[:1] in _BEGIN_COMMENTS and bool(_COMMENT.match(line))


def words_of_message(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def message_match(message: Sequence[str], text: str) -> float:
    """Return how well a string literal in `text`, or all its literals joined, match the message: 0 to 1.
    Placeholders (`%s`, `{name}`, `${…}`) match any words, so only the other words of the literal count."""
    literals = [_own_words("".join(filter(None, match.groups()))) for match in _STRING.finditer(text)]
    joined = [word for literal in literals for word in literal]
    best = max((_match(message, literal) for literal in literals), default=0.0)
    return max(best, 0.9 * _match(message, joined))


def prose_match(message: Sequence[str], text: str) -> float:
    """Return the share of the message's words that the text has in the same order, 0 to 1."""
    words = words_of_message(text)
    return LCSseq.similarity(message, words) / len(message) if message else 0.0


def _own_words(literal: str) -> list[str]:
    return words_of_message(_PLACEHOLDER.sub(" ", literal))


def _match(message: Sequence[str], literal: Sequence[str]) -> float:
    if len(literal) < _FEWEST_LITERAL_WORDS:
        return 0.0
    shared = LCSseq.similarity(message, literal)
    if shared < _FEWEST_LITERAL_WORDS:
        return 0.0
    of_literal, of_message = shared / len(literal), shared / len(message)
    return max(of_literal, of_message) * min(1.0, shared / min(_FULL_MATCH_WORDS, len(message)))
