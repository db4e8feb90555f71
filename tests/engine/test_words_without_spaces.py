"""A word inside a run without spaces is found, and a query that stands in a text is never refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ask
from tests.engine.engines import PATIENT, indexed
from tests.harbour import write_files

from cairn.engine.engine import Engine
from cairn.protocol import DiscoverAnswer, SearchAnswer, SearchResult

FILES = {
    "notes/会议.md": "# 今天的会议记录\n\n我们讨论了渡轮停靠规则和夜间值班安排。\n",
    "notes/traditional.md": "# 航運公告\n\n颱風期間渡輪停泊規則將會調整，請旅客留意碼頭告示。\n",
    "notes/japanese.md": "# 運航メモ\n\n悪天候のフェリーは欠航判断を船長が行います。渡し船2号は点検中。\n",
    "notes/kana.md": "# ターミナル\n\n横浜ターミナルのチケットカウンターは二階です。ﾛｯｶｰもあります。\n",
    "notes/thai.md": "# ประกาศ\n\nวันนี้เรือข้ามฟากหยุดให้บริการเพราะคลื่นสูงมาก\n",
    "notes/lao.md": "# ແຈ້ງການ\n\nມື້ນີ້ເຮືອຂ້າມຟາກຢຸດໃຫ້ບໍລິການ\n",
    "notes/khmer.md": "# ជូនដំណឹង\n\nថ្ងៃនេះសាឡាងឈប់ដំណើរការដោយសារខ្យល់ខ្លាំង\n",
    "notes/korean.md": "# 공지\n\n오늘 여객선을 운항하지 않습니다. 선착장에서 시간표를 보세요.\n",
    "notes/mixed.md": "# 说明\n\n请调用API接口fetchDock获取泊位列表。\nＡＰＩ設定は管理者のみ。\n",
    "src/dock.py": (
        "def berth(ship):\n    # 检查潮汐窗口是否打开，否则等待。\n    if not ship:\n"
        '        raise ValueError("船舶编号不能为空")\n    return ship\n'
    ),
    "src/fee.ts": "// 料金計算ロジック\nexport function fee(n) { return `合計金額は${n}円`; }\n",
    "src/运费计算.py": "RATE = 3\n\n\ndef total(n):\n    return n * RATE\n",
    "docs/lamp.md": (
        "# Lamps\n\nThe harbour master keeps the signal lamp trimmed in fog.\nIt is in a store.\n"
    ),
}
WORDS = [
    ("停靠规则", "notes/会议.md"),
    ("停靠规则？", "notes/会议.md"),
    ("停泊規則", "notes/traditional.md"),
    ("欠航判断", "notes/japanese.md"),
    ("渡し船2号", "notes/japanese.md"),
    ("チケットカウンター", "notes/kana.md"),
    ("ﾛｯｶｰ", "notes/kana.md"),
    ("เรือข้ามฟาก", "notes/thai.md"),
    ("ເຮືອຂ້າມຟາກ", "notes/lao.md"),
    ("សាឡាង", "notes/khmer.md"),
    ("여객선", "notes/korean.md"),
    ("API接口", "notes/mixed.md"),
    ("ＡＰＩ設定", "notes/mixed.md"),
    ("泊位列表", "notes/mixed.md"),
    ("潮汐窗口", "src/dock.py"),
    ("船舶编号", "src/dock.py"),
    ("料金計算", "src/fee.ts"),
    ("合計金額", "src/fee.ts"),
]
OTHER_FORMS = [
    ("停靠 规则", "notes/会议.md"),
    ("夜间值班 安排", "notes/会议.md"),
    ("渡轮停靠规则是什么？", "notes/会议.md"),
    ("渡輪 碼頭", "notes/traditional.md"),
    ("フェリー 欠航", "notes/japanese.md"),
    ("ロッカー", "notes/kana.md"),
    ("API設定", "notes/mixed.md"),
    ("여객선 시간표", "notes/korean.md"),
    ("เรือข้ามฟาก คลื่น", "notes/thai.md"),
    ("运费计算", "src/运费计算.py"),
    ("船舶", "src/dock.py"),
]


@pytest.fixture(scope="module")
def engine(module_folder: Path) -> Iterator[Engine]:
    with indexed(write_files(module_folder / "scripts", FILES), **PATIENT) as engine:
        yield engine


def search(engine: Engine, query: str, **params: Any) -> SearchAnswer:
    found: SearchAnswer = ask(engine, "search", {"query": query, "limit": 3, **params})
    return found


def discover(engine: Engine, query: str) -> DiscoverAnswer:
    found: DiscoverAnswer = ask(engine, "discover", {"query": query})
    return found


def marked(result: SearchResult) -> str:
    line = result.matched_line
    assert line is not None
    units = line.text.encode("utf-16-le")
    return "|".join(units[2 * mark.start : 2 * mark.end].decode("utf-16-le") for mark in line.marks)


@pytest.mark.parametrize(("query", "path"), [*WORDS, *OTHER_FORMS])
def test_search_answers_with_the_text_that_has_the_word(engine: Engine, query: str, path: str) -> None:
    found = search(engine, query)
    assert found.verdict.action == "answer"
    assert found.results[0].path == path


@pytest.mark.parametrize(("query", "path"), [*WORDS, *OTHER_FORMS])
def test_discover_quotes_the_text_that_has_the_word(engine: Engine, query: str, path: str) -> None:
    found = discover(engine, query)
    assert found.verdict.action == "answer"
    assert found.excerpts[0].path == path


@pytest.mark.parametrize(("query", "path"), [(query, path) for query, path in WORDS if "？" not in query])
@pytest.mark.parametrize("whole_word", [False, True])
def test_exact_search_lists_the_line_with_the_word(
    engine: Engine, query: str, path: str, whole_word: bool
) -> None:
    found = search(engine, query, exact=True, wholeWord=whole_word).occurrences
    assert found is not None
    assert found.complete
    assert {file.path for file in found.found} == {path}


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("停靠规则", "停靠规则"),
        ("夜间值班 安排", "夜间值班安排"),
        ("欠航判断", "欠航判断"),
        ("여객선", "여객선"),
        ("คลื่นสูง", "คลื่นสูง"),
        ("ロッカー", "ﾛｯｶｰ"),
    ],
)
def test_marks_cover_the_letters_of_the_word(engine: Engine, query: str, text: str) -> None:
    (result, *_) = search(engine, query).results
    assert marked(result) == text
    assert text in result.matched_terms


@pytest.mark.parametrize(
    "query", ["太阳能电池", "冷蔵庫の修理", "ตู้เย็น", "냉장고 수리", "refrigerator repair", "the of"]
)
def test_absent_topics_are_still_refused(engine: Engine, query: str) -> None:
    assert search(engine, query).verdict.action == "noMatch"
    assert discover(engine, query).verdict.action == "noMatch"


@pytest.mark.parametrize(
    "query", ["船", "signal lamp trimmed in", "the harbour master keeps", "Lamp trimmed?"]
)
def test_a_query_that_stands_in_a_text_is_answered(engine: Engine, query: str) -> None:
    for found in (search(engine, query), discover(engine, query)):
        assert found.verdict.action == "answer"
    text = query.strip("?").lower()
    assert any(text in result.snippet.lower() for result in search(engine, query).results)


@pytest.mark.parametrize("query", ["it is in a", "arbour mast"])
def test_function_words_and_parts_of_words_are_not_quotes(engine: Engine, query: str) -> None:
    assert search(engine, query).verdict.action == "noMatch"
