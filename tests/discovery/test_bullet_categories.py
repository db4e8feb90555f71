"""What a sentence tells, by whole words."""

from __future__ import annotations

import pytest

from cairn.discovery import BulletCategory
from cairn.discovery.categories import categorize

DEFINITION, FEATURE, ARCHITECTURE = (
    BulletCategory.DEFINITION,
    BulletCategory.FEATURE,
    BulletCategory.ARCHITECTURE,
)
PERFORMANCE, INTEGRATION = BulletCategory.PERFORMANCE, BulletCategory.INTEGRATION
USE_CASE, OTHER = BulletCategory.USE_CASE, BulletCategory.OTHER


@pytest.mark.parametrize(
    ("sentence", "category"),
    [
        ("Vectorizer is a high-performance vector database.", DEFINITION),
        ("**Flask** is an application framework.", DEFINITION),
        ("A blueprint is the set of routes of one part.", DEFINITION),
        ("Stages are the steps of a run.", DEFINITION),
        ("The file defines how a run starts.", DEFINITION),
        ("A chunk represents lines of a file.", DEFINITION),
        ("MMR stands for maximal marginal relevance.", DEFINITION),
        ('class Flask(App): """The application object.', DEFINITION),
        ("pub struct Walker<T> { depth }", DEFINITION),
        ("It supports semantic search.", FEATURE),
        ("The client provides connection pooling.", FEATURE),
        ("Features of the next release follow.", FEATURE),
        ("One module for each of the stages.", ARCHITECTURE),
        ("The server consists of a reader and a writer.", ARCHITECTURE),
        ("Latency stays under 3 ms.", PERFORMANCE),
        ("It is faster than the others.", PERFORMANCE),
        ("Integrations exist for two editors.", INTEGRATION),
        ("The REST API listens on a local port.", INTEGRATION),
        ("For example, a test may need a client.", USE_CASE),
        ("Common use cases follow.", USE_CASE),
        # The words within other words, and "is a" that defines nothing.
        ("Red apples; this apple, this aim.", OTHER),
        ("Rapid capital gains in the unsupportable end.", OTHER),
        ("If the value is a list it is copied.", OTHER),
        ("There is a file for that.", OTHER),
        ("The lines that a reader sees first on the screen is a choice.", OTHER),
        ("Sessions are signed.", OTHER),
        ("Tells whether the value is a list of names.", OTHER),
        ("@returns {boolean} what is a list.", OTHER),
        ("The words which is a list follows.", OTHER),
        ("", OTHER),
    ],
)
def test_a_sentence_is_put_where_its_words_point(sentence, category):
    assert categorize(sentence) is category


def test_the_earlier_category_of_s1_wins():
    assert categorize("Cairn is a server that supports plugins.") is DEFINITION
    assert categorize("It supports plugins and is fast.") is FEATURE
    assert categorize("Components are fast.") is ARCHITECTURE
