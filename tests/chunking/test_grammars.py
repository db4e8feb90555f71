"""The bundled grammars of known languages load, and parsing leaks nothing."""

import gc
import tracemalloc

import semble_grammars

from cairn.chunking.grammars import parse
from cairn.languages.registry import KNOWN_LANGUAGES, facts_of


def test_used_grammars_load_and_parse() -> None:
    bundled = KNOWN_LANGUAGES.intersection(semble_grammars.available_languages())
    used = {language for language in bundled if facts_of(language).is_parsed}
    assert len(used) > 50
    assert [language for language in sorted(used) if parse(language, b"a\n") is None] == ["jsonnet"]


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
