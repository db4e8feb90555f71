"""The content words of a question, and how much of them a text covers."""

from __future__ import annotations

import pytest

from cairn.discovery.terms import QueryTerms, content_words


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("how does request routing work", ["request", "routing"]),
        ("explain (the) `Flask` app", ["Flask", "app"]),
        ("explain show", ["explain", "show"]),
        ("what is it", []),
        ("", []),
    ],
)
def test_function_words_and_light_words_do_not_count(query, expected):
    assert content_words(query) == expected


@pytest.mark.parametrize(
    ("query", "text", "coverage"),
    [
        ("request routing", "Routes answer requests.", 1.0),
        ("request routing", "A request arrives.", 0.5),
        ("session cookie", "class SecureCookieSessionInterface", 1.0),
        ("session cookie", "session_cookie_name", 1.0),
        ("SessionCookie", "the cookie of a session", 1.0),
        ("max_file_bytes", "the maximum file size", 1 / 3),
        ("roteamento", "o roteamento de requisições", 1.0),
        ("o que e\u0301 o vectorizer", "the vectorizer", 1.0),
        ("routing", "nothing of the kind", 0.0),
        ("what is it", "it is what it is", 0.0),
    ],
)
def test_coverage_is_the_share_of_terms_in_a_text(query, text, coverage):
    assert QueryTerms.of(query).coverage(text) == pytest.approx(coverage)


def test_occurrences_are_counted_by_stem():
    counts = QueryTerms.of("route cookies").counts("Route, routes, ROUTING; getCookie and cookie_jar")
    assert sorted(counts.values()) == [2, 3]
