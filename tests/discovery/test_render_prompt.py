"""Stage 9: the layouts, and a budget that is never exceeded."""

from __future__ import annotations

import json
import math
import re

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.discovery.discovery_builders import bullet

from cairn.discovery import (
    AnswerPlan,
    AnswerPlanConfig,
    BulletCategory,
    FormatStyle,
    PromptRenderConfig,
    SectionType,
    build_answer_plan,
    render_llm_prompt,
)

BULLETS = [
    bullet(
        "Vectorizer is a vector database",
        0.9,
        source_id="vectorizer-docs#0",
        category=BulletCategory.DEFINITION,
    ),
    bullet(
        "Designed for semantic search", 0.8, source_id="vectorizer-docs#1", category=BulletCategory.DEFINITION
    ),
    bullet(
        "Sub-3ms search times",
        0.7,
        source_id="vectorizer-source#5",
        path="src/search.rs",
        lines=(9, 12),
        category=BulletCategory.FEATURE,
    ),
]
MARKDOWN = """\
# Context from Vector Database

Found 3 relevant pieces of information from 3 sources.

## Instructions
Format the following information into a clear, concise answer. Keep citations [source_id] intact. Organize by the \
sections provided.

## Evidence

### 📋 Definition

1. Vectorizer is a vector database [vectorizer-docs#0]
2. Designed for semantic search [vectorizer-docs#1]

### ✨ Key Features

1. Sub-3ms search times [vectorizer-source#5]

## Sources

- [vectorizer-docs#0]
- [vectorizer-docs#1]
- [vectorizer-source#5] src/search.rs#L10-L12
"""
PLAIN = MARKDOWN.replace("### ", "").replace("## ", "").replace("# ", "").replace("- [", "[")


def test_the_question_stands_before_the_instructions():
    plan = build_answer_plan(BULLETS, AnswerPlanConfig())
    prompt = render_llm_prompt(plan, BULLETS, PromptRenderConfig(), query="what is vectorizer")
    assert prompt == MARKDOWN.replace("## Instr", "## Question\nwhat is vectorizer\n\n## Instr")
    as_json = PromptRenderConfig(format_style=FormatStyle.JSON)
    assert json.loads(render_llm_prompt(plan, BULLETS, as_json, query=" why? "))["question"] == "why?"


def render(bullets=BULLETS, count_tokens=None, **config):
    plan = build_answer_plan(bullets, AnswerPlanConfig(max_bullets_per_section=99))
    counter = {} if count_tokens is None else {"count_tokens": count_tokens}
    return render_llm_prompt(plan, bullets, PromptRenderConfig(**config), **counter)


def words(text):
    return len(text.split())


def test_markdown_is_the_layout_of_s1():
    assert render() == MARKDOWN


def test_plain_is_the_same_without_marks():
    assert render(format_style=FormatStyle.PLAIN) == PLAIN


def test_json_holds_the_same_as_data():
    prompt = json.loads(render(format_style=FormatStyle.JSON))
    assert prompt["found"] == {"pieces": 3, "sources": 3}
    assert [section["title"] for section in prompt["sections"]] == ["📋 Definition", "✨ Key Features"]
    assert prompt["sections"][1]["evidence"] == [
        {"text": "Sub-3ms search times", "source": "vectorizer-source#5"}
    ]
    assert prompt["sources"][2] == {"id": "vectorizer-source#5", "citations": ["src/search.rs#L10-L12"]}


def test_without_sources_nothing_is_cited():
    prompt = render(include_sources=False)
    assert "1. Vectorizer is a vector database\n" in prompt
    assert "Sources" not in prompt
    assert "[" not in prompt
    data = json.loads(render(include_sources=False, format_style=FormatStyle.JSON))
    assert data["sections"][0]["evidence"][0] == {"text": "Vectorizer is a vector database"}
    assert "sources" not in data


def test_metadata_adds_path_score_and_category():
    assert "1. Sub-3ms search times [vectorizer-source#5] (src/search.rs, score 0.70, feature)\n" in render(
        include_metadata=True
    )
    data = json.loads(render(include_metadata=True, format_style=FormatStyle.JSON))
    assert data["sections"][1]["evidence"][0] == {
        "text": "Sub-3ms search times",
        "source": "vectorizer-source#5",
        "path": "src/search.rs",
        "score": 0.7,
        "category": "feature",
    }


def test_a_source_with_several_citations_is_listed_once():
    shared = [
        bullet("one", lines=(0, 1)),
        bullet("two", lines=(4, 6)),
        bullet("three", lines=(0, 1)),
    ]
    assert "- [demo-docs#0] README.md#L1-L1, README.md#L5-L6\n" in render(shared)
    assert "Found 3 relevant pieces of information from 1 sources." in render(shared)


def test_over_the_budget_the_lowest_scored_bullet_goes_first_with_its_section_and_source():
    prompt = render(count_tokens=words, max_prompt_tokens=words(MARKDOWN) - 1)
    assert "Found 2 relevant pieces of information from 2 sources." in prompt
    assert "Sub-3ms" not in prompt
    assert "Key Features" not in prompt
    assert "vectorizer-source#5" not in prompt


def test_of_equal_bullets_the_later_one_in_the_plan_goes_first():
    bullets = [bullet(f"bullet number {i}", 0.5, source_id=f"c#{i}") for i in range(3)]
    prompt = render(bullets, count_tokens=words, max_prompt_tokens=words(render(bullets)) - 1)
    assert re.findall(r"number (\d)", prompt) == ["0", "1"]


@pytest.mark.parametrize("style", FormatStyle)
def test_when_no_bullet_fits_the_prompt_says_so_or_is_empty(style):
    prompt = render(format_style=style, count_tokens=words, max_prompt_tokens=20)
    assert "3 pieces of information were found; none fits into 20 tokens." in prompt
    assert "Context from Vector Database" in prompt
    assert "Context" not in render(format_style=style, count_tokens=words, max_prompt_tokens=13)
    assert render(format_style=style, count_tokens=words, max_prompt_tokens=3) == ""


def test_few_prompts_are_counted():
    bullets = [bullet(f"bullet number {i}", i / 300, source_id=f"c#{i}") for i in range(300)]
    counted = []
    render(bullets, count_tokens=lambda text: counted.append(text) or words(text), max_prompt_tokens=500)
    assert len(counted) <= 11


def test_bullets_that_no_section_holds_are_still_shown():
    plan = build_answer_plan(BULLETS, AnswerPlanConfig(sections=(SectionType.USE_CASES,)))
    prompt = render_llm_prompt(plan, BULLETS, PromptRenderConfig())
    assert "### 📎 Further Evidence\n\n1. Vectorizer is" in prompt
    assert "Found 3 relevant" in prompt


def test_the_counts_speak_of_what_the_prompt_holds():
    sections = (SectionType.DEFINITION, SectionType.FEATURES)
    plan = build_answer_plan(BULLETS, AnswerPlanConfig(sections=sections, max_bullets_per_section=1))
    assert "Found 2 relevant pieces of information from 2 sources." in render_llm_prompt(
        plan, BULLETS, PromptRenderConfig()
    )


@pytest.mark.parametrize("style", FormatStyle)
def test_no_evidence_makes_no_prompt(style):
    assert render_llm_prompt(AnswerPlan((), 0, ()), [], PromptRenderConfig(format_style=style)) == ""


@attrs.frozen
class _Found:
    bullets: list[str]
    pieces: int
    sources: int
    listed: list[str]


def read(prompt, style):
    if style is FormatStyle.JSON:
        data = json.loads(prompt)
        texts = [entry["text"] for section in data["sections"] for entry in section["evidence"]]
        return _Found(texts, **data["found"], listed=[source["id"] for source in data["sources"]])
    pieces, sources = re.search(
        r"Found (\d+) relevant pieces of information from (\d+) sources\.", prompt
    ).groups()
    texts = re.findall(r"^\d+\. (.*) \[[^\]]*\]$", prompt, re.MULTILINE)
    return _Found(texts, int(pieces), int(sources), re.findall(r"^(?:- )?\[(.*?)\]", prompt, re.MULTILINE))


COUNTERS = (words, lambda text: math.ceil(len(text) / 4), len, lambda text: len(text.encode()) // 3)
TEXTS = st.text(alphabet='abc é😀"\\', min_size=1, max_size=300).map(
    lambda text: " ".join(text.split()) or "x"
)
PLACES = st.tuples(TEXTS, st.floats(0, 1), st.sampled_from(list(BulletCategory)), st.integers(0, 9))


@settings(max_examples=300)
@given(
    st.lists(PLACES, min_size=1, max_size=25),
    st.integers(0, 8000),
    st.sampled_from(FormatStyle),
    st.sampled_from(COUNTERS),
)
def test_the_budget_holds_and_bullets_are_whole(places, budget, style, count):
    bullets = [
        bullet(text, score, category=category, source_id=f"c#{index}", lines=(index, index + 1))
        for text, score, category, index in places
    ]
    prompt = render(bullets, count_tokens=count, max_prompt_tokens=budget, format_style=style)
    assert count(prompt) <= budget
    if "none fits into" in prompt or not prompt:
        return
    found = read(prompt, style)
    assert found.pieces == len(found.bullets)
    assert found.sources == len(found.listed) == len(set(found.listed))
    texts = [b.text for b in bullets]
    assert all(found.bullets.count(text) <= texts.count(text) for text in found.bullets)
    if len(found.bullets) < len(bullets):
        best = sorted((b.score for b in bullets), reverse=True)[: len(found.bullets)]
        kept = [max(b.score for b in bullets if b.text == text) for text in found.bullets]
        assert min(kept) >= best[-1]
