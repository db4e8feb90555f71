"""Every bundled grammar is used for files, or listed with a reason."""

import gc
import tracemalloc

import semble_grammars

from cairn.chunking.grammars import UNUSED, parse
from cairn.languages.registry import KNOWN_LANGUAGES, facts_of

_BUNDLED = frozenset(semble_grammars.available_languages())
_USED = _BUNDLED - UNUSED.keys()


def test_every_grammar_is_used_or_listed_with_a_reason() -> None:
    used = {name for name in _USED if facts_of(name).is_parsed}
    assert used & KNOWN_LANGUAGES == _USED
    assert UNUSED.keys() <= _BUNDLED
    assert all(UNUSED.values())


def test_used_grammars_load_and_parse() -> None:
    assert [language for language in sorted(_USED) if parse(language, b"a\n") is None] == []


def test_repeated_parsing_leaks_no_text() -> None:
    source = b"def answer():\n    return 42\n" * 2_000

    def parse_often(times: int) -> int:
        tracemalloc.start()
        for _ in range(times):
            parse("python", source)
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return kept

    parse_often(1)
    assert parse_often(20) < len(source)
