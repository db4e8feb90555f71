"""Stage 6: READMEs first, where the question is one that they answer."""

from __future__ import annotations

import pytest
from tests.discovery.discovery_builders import chunk

from cairn.discovery import ReadmePromotionConfig, promote_readme
from cairn.retrieval.intent import Readme


def paths(chunks):
    return [(found.metadata.file_path, round(found.score, 3)) for found in chunks]


HITS = [
    chunk("a", 0.9, "docs/guide.md"),
    chunk("b", 0.2, "README.md"),
    chunk("c", 0.5, "sub/readme.rst"),
    chunk("d", 0.3, "src/readme.py"),
]


def test_readmes_are_boosted_and_stand_on_top():
    assert paths(promote_readme(HITS, ReadmePromotionConfig())) == [
        ("sub/readme.rst", 0.75),
        ("README.md", 0.3),
        ("docs/guide.md", 0.9),
        ("src/readme.py", 0.3),
    ]


def test_without_always_top_the_boosted_score_decides():
    assert paths(promote_readme(HITS, ReadmePromotionConfig(always_top=False))) == [
        ("docs/guide.md", 0.9),
        ("sub/readme.rst", 0.75),
        ("README.md", 0.3),
        ("src/readme.py", 0.3),
    ]


def test_where_a_readme_is_no_answer_hits_are_only_sorted():
    assert paths(promote_readme(HITS, ReadmePromotionConfig(), Readme.AS_IT_IS)) == [
        ("docs/guide.md", 0.9),
        ("sub/readme.rst", 0.5),
        ("src/readme.py", 0.3),
        ("README.md", 0.2),
    ]


@pytest.mark.parametrize(
    ("path", "patterns", "expected"),
    [
        ("ReadMe.MD", ("README.md",), True),
        ("docs\\README.md", ("readme.md",), True),
        ("README", ("README",), True),
        ("README.md.bak", ("README.md",), False),
        ("MY_README.md", ("README.md",), False),
        ("README.pt.md", ("README*.md",), True),
        ("README.md", (), False),
    ],
)
def test_patterns_match_the_file_name_in_any_case(path, patterns, expected):
    [found] = promote_readme([chunk("x", 0.8, path)], ReadmePromotionConfig(readme_patterns=patterns))
    assert found.score == pytest.approx(1.2 if expected else 0.8)


def test_no_hits_give_none():
    assert promote_readme([], ReadmePromotionConfig()) == []
