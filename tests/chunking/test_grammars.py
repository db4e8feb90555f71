"""Every bundled grammar is used for files that are found, or it is said why not."""

import semble_grammars

from cairn.chunking.chunker import is_parsed
from cairn.chunking.grammars import UNUSED, parse
from cairn.workspace.languages import DETECTED_LANGUAGES

_BUNDLED = frozenset(semble_grammars.available_languages())


def test_every_grammar_is_used_or_named_with_a_reason() -> None:
    used = {language for language in _BUNDLED - UNUSED.keys() if is_parsed(language)}
    assert used & DETECTED_LANGUAGES == _BUNDLED - UNUSED.keys()


def test_what_is_not_used_is_bundled_and_has_a_reason() -> None:
    assert UNUSED.keys() <= _BUNDLED
    assert all(UNUSED.values())


def test_the_grammars_that_are_used_load_and_parse() -> None:
    assert [
        language for language in sorted(_BUNDLED - UNUSED.keys()) if parse(language, b"a\n") is None
    ] == []
