"""Where sentences end in technical text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.discovery.sentences import split_sentences


def split(text):
    return [text[start:end] for start, end in split_sentences(text)]


# `¦` marks where a sentence is expected to end.
CASES = {
    "plain": "It reads files.¦ It writes vectors!¦ Does it stop?¦ Yes.",
    "abbreviations": "Use a store, e.g. SQLite, i.e. a file, cf. Dr. Smith vs. Prof. Jones.¦ Done.",
    "etc within": "Routes, hooks, etc. are registered at import.",
    "etc at the end": "It has routes, hooks, etc.¦ Then it stops.",
    "portuguese": "Usa um banco, p.ex. SQLite, do sr. Silva.¦ É rápido.",
    "versions": "Python 3.11.2 and v2.0.1 work.¦ Version 3.12 does not.",
    "dotted names": "Call flask.Flask.route or os.path.join() first.¦ Then run it.",
    "files": "Edit pyproject.toml and .cairn.toml, not setup.py.¦ Save.",
    "file at the end": "Edit pyproject.toml.¦ Save it.",
    "ellipsis within": "Wait ... until it is ready… and then go.",
    "ellipsis at the end": "It waits...¦ Then it goes.",
    "code span": "Call `run. Stop.` once.¦ Then ``a. B`` again.",
    "url": "See https://example.org/a.b?c=D.¦ It is short.¦ Or http://x.y/z.¦ End.",
    "markdown link": "See [the guide](https://x.y/a.html).¦ It [helps](b.md).¦ Fine.",
    "autolink": "Write to <https://x.y/a. B> first.¦ Go.",
    "brackets": "It stops (see above. Really.) and goes on.¦ (This is one. And two.)¦ End.",
    "closing marks": 'He said "stop."¦ Then (finally.)¦ It was **done.**¦ Next.',
    "question and exclamation": "Really?!¦ Yes.",
    "initials": "Written by J. R. Smith in 2020.¦ Good.",
    "a letter that ends a sentence": "It is written in C.¦ It is fast.",
    "numbers": "There are 3.¦ 4 were lost.¦ No. 5 is alive.",
    "lower case goes on": "The approx. size matters, the max. less.",
    "identifier starts a sentence": "It is small.¦ flask.Flask is the class.¦ `run` starts it.¦ get_value reads it.",
    "roles": "Use :func:`~app.run.` here.¦ See :ref:`that. One`.",
    "no full stop": "Support for BM25, TF-IDF and MiniLM",
    "unbalanced bracket": "First (half.¦ Second done.",
    "fullwidth": "これは文です。¦次の文です。",
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
def test_sentences_end_where_a_reader_would_end_them(text):
    assert [part.strip() for part in text.split("¦")] == split(text.replace("¦", ""))


@pytest.mark.parametrize("text", ["", "   ", "\t"])
def test_nothing_has_no_sentences(text):
    assert split(text) == []


@given(st.text(alphabet="aB1 .!?…()[]`\"'\n<>_*/:é。", max_size=200))
def test_sentences_are_in_order_trimmed_and_lose_no_word(text):
    spans = split_sentences(text)
    assert all(start < end for start, end in spans)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
    assert "".join("".join(text[start:end] for start, end in spans).split()) == "".join(text.split())
