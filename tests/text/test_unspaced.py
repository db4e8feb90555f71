"""Runs of letters without spaces become their overlapping pairs, whatever form the letters have."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.index.store.keyword_columns import compound_parts, path_words
from cairn.retrieval.wording import read_words
from cairn.text.identifiers import identifier_words
from cairn.text.unspaced import is_unspaced, places_of, spread
from cairn.text.words import stem, stems, text_stems

LETTERS = st.sampled_from("停靠规则フェﾌﾟー여객เรื ่ខ្ຮ港a1_ＡA. \n")


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("停靠规则", "停靠 靠规 规则"),
        ("船", "船"),
        ("API接口", "API 接口"),
        ("渡し船2号", "渡し し船 2 号"),
        ("ﾌﾟﾗﾝ", "プラ ラン"),
        ("ＡＰＩ設定", "API 設定"),
        ("여객선을", "여객 객선 선을"),
        (unicodedata.normalize("NFD", "선을 ガ行"), "선을 ガ行"),
        ("เรือข้าม", "เร รอ อข ขา าม"),
        ("ເຮືອ", "ເຮ ຮອ"),
        ("ខ្មែរ", "ខម មរ"),
        ("မြို့တော်", "မတ"),
        ("港\u200b口", "港口"),
        ("Größe naïve привет", "Größe naïve привет"),
    ],
)
def test_spread_separates_pairs_of_letters(text: str, pairs: str) -> None:
    assert spread(text).split() == pairs.split()


@given(st.text(LETTERS) | st.text())
def test_spread_keeps_lines_and_is_idempotent(text: str) -> None:
    once = spread(text)
    assert once.count("\n") == text.count("\n")
    assert spread(once).split() == once.split()


@given(st.text(LETTERS, min_size=1), st.text(LETTERS), st.text(LETTERS))
def test_pairs_of_a_part_are_among_those_of_the_whole(part: str, before: str, after: str) -> None:
    letters = "".join(each for each in part if is_unspaced(each) and unicodedata.category(each) == "Lo")
    if len(spread(letters).split()) > 1 and not (after and unicodedata.category(after[0])[0] in "ML"):
        assert (
            f" {' '.join(spread(letters).split())} "
            in f" {' '.join(spread(before + letters + after).split())} "
        )


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_texts_have_the_same_words_as_without_pairs(text: str) -> None:
    assert spread(text) is text
    assert not is_unspaced(text)
    assert stems(text) == tuple(map(stem, identifier_words(text)))


@given(st.text(st.characters(blacklist_categories=["Lo", "Lm", "Nl", "Cs"], max_codepoint=0x0DFF)))
def test_alphabets_with_spaces_have_the_same_words_as_before(text: str) -> None:
    assert spread(text) == text


@pytest.mark.parametrize(
    ("pairs", "text", "marked"),
    [
        ("停靠 靠规 规则", "渡轮停靠规则和规则", ["停靠规则", "规则"]),
        ("เร รอ", "วันเรือข้าม", ["เรือ"]),
        ("プラ ラン", "ﾌﾟﾗﾝ表", ["ﾌﾟﾗﾝ"]),
        ("api", "ＡＰＩ設定", ["ＡＰＩ"]),
        ("船", "船 船長", ["船"]),
    ],
)
def test_places_cover_the_letters_of_a_text(pairs: str, text: str, marked: list[str]) -> None:
    assert [text[start:end] for start, end in places_of(pairs.split(), text)] == marked


def test_words_of_texts_names_and_queries_are_pairs() -> None:
    assert text_stems("渡轮停靠") == {"渡轮", "轮停", "停靠"}
    assert list(compound_parts("用户_name 船V2号")) == ["name", "v 2"]
    assert path_words("文档/停靠规则.md") == ("停靠 靠规 规则 md", "文档")
    assert read_words("停靠规则 and 船").terms == ("停靠", "靠规", "规则", "船")
