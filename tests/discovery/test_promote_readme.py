"""Stage 6: READMEs first, if the question is one that they answer."""

from __future__ import annotations

import pytest
from tests.discovery.discovery_builders import chunk

from cairn.discovery.searching import promote_readme
from cairn.retrieval.intent import Readme
from cairn.settings.discovery import ReadmePromotionConfig


def paths(chunks):
    return [(found.metadata.file_path, round(found.score, 3)) for found in chunks]


HITS = [
    chunk("a", 0.9, "docs/guide.md"),
    chunk("b", 0.2, "README.md"),
    chunk("c", 0.5, "sub/readme.rst"),
    chunk("d", 0.3, "src/readme.py"),
]


GUIDE, RST, PY, README = "docs/guide.md", "sub/readme.rst", "src/readme.py", "README.md"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((ReadmePromotionConfig(),), [(RST, 0.75), (README, 0.3), (GUIDE, 0.9), (PY, 0.3)]),
        ((ReadmePromotionConfig(always_top=False),), [(GUIDE, 0.9), (RST, 0.75), (README, 0.3), (PY, 0.3)]),
        ((ReadmePromotionConfig(), Readme.AS_IT_IS), [(GUIDE, 0.9), (RST, 0.5), (PY, 0.3), (README, 0.2)]),
    ],
    ids=["first", "boosted only", "sorted only"],
)
def test_readmes_are_promoted_as_configured(options, expected):
    assert paths(promote_readme(HITS, *options)) == expected
    assert promote_readme([], *options) == []


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
