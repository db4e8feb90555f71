"""Stages 8 and 9: the order and sizes of sections, the formats of the prompt, and its budget."""

from __future__ import annotations

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.discovery.discovery_builders import bullet

from cairn.discovery.render import build_answer_plan, render_llm_prompt
from cairn.embedding.packaged import load_vocabulary
from cairn.protocol.discovery_messages import AnswerPlan
from cairn.settings.discovery import (
    AnswerPlanConfig,
    BulletCategory,
    FormatStyle,
    PromptRenderConfig,
    SectionType,
)

TITLES = {
    BulletCategory.DEFINITION: "📋 Definition",
    BulletCategory.FEATURE: "✨ Key Features",
    BulletCategory.ARCHITECTURE: "🏗️ Architecture",
    BulletCategory.PERFORMANCE: "⚡ Performance",
    BulletCategory.INTEGRATION: "🔗 Integrations",
    BulletCategory.USE_CASE: "🎯 Use Cases",
    BulletCategory.OTHER: "📎 Further Evidence",
}


def test_categories_have_sections_in_order():
    bullets = [bullet(category=category) for category in reversed(BulletCategory)]
    plan = build_answer_plan(bullets, AnswerPlanConfig())
    assert [section.title for section in plan.sections] == list(TITLES.values())
    assert [section.bullets[0].category for section in plan.sections] == list(TITLES)
    assert [section.priority for section in plan.sections] == [1, 2, 3, 4, 5, 6, 7]


def test_empty_sections_are_left_out_and_priorities_have_no_gaps():
    bullets = [bullet(category=BulletCategory.USE_CASE), bullet(category=BulletCategory.FEATURE)]
    plan = build_answer_plan(bullets, AnswerPlanConfig())
    found = [(section.section_type, section.priority) for section in plan.sections]
    assert found == [(SectionType.FEATURES, 1), (SectionType.USE_CASES, 2)]


def test_section_keeps_its_best_bullets_and_the_rest_is_further_evidence():
    bullets = [bullet(f"b{i}", score=i / 10, category=BulletCategory.FEATURE) for i in range(8)]
    features, other = build_answer_plan(bullets, AnswerPlanConfig(max_bullets_per_section=3)).sections
    assert [b.text for b in features.bullets] == ["b7", "b6", "b5"]
    assert other.section_type is SectionType.OTHER
    assert [b.text for b in other.bullets] == ["b4", "b3", "b2", "b1", "b0"]


@pytest.mark.parametrize(("minimum", "features", "others"), [(0, 2, 1), (1, 2, 1), (2, 2, 1), (3, 0, 3)])
def test_section_below_its_minimum_becomes_further_evidence(minimum, features, others):
    bullets = [bullet(category=BulletCategory.FEATURE), bullet(category=BulletCategory.FEATURE), bullet()]
    plan = build_answer_plan(bullets, AnswerPlanConfig(min_bullets_per_section=minimum))
    sizes = {section.section_type: len(section.bullets) for section in plan.sections}
    assert sizes.get(SectionType.FEATURES, 0) == features
    assert sizes[SectionType.OTHER] == others


def test_without_further_evidence_the_rest_is_left_out():
    bullets = [bullet(f"b{i}", score=i / 10, category=BulletCategory.FEATURE) for i in range(8)]
    config = AnswerPlanConfig(sections=(SectionType.FEATURES,), max_bullets_per_section=3)
    plan = build_answer_plan(bullets, config)
    assert [len(section.bullets) for section in plan.sections] == [3]
    assert plan.total_bullets == 8


def test_configured_sections_are_used_in_their_order():
    bullets = [bullet(category=category) for category in BulletCategory]
    config = AnswerPlanConfig(sections=(SectionType.OTHER, SectionType.DEFINITION, SectionType.OTHER))
    plan = build_answer_plan(bullets, config)
    assert [s.section_type for s in plan.sections] == [SectionType.OTHER, SectionType.DEFINITION]


def test_sources_are_listed_once_in_order_of_first_use():
    bullets = [
        bullet(source_id="c#3", category=BulletCategory.FEATURE),
        bullet(source_id="c#1", category=BulletCategory.DEFINITION),
        bullet(source_id="c#3", category=BulletCategory.DEFINITION, score=0.4),
        bullet(source_id="c#2", category=BulletCategory.OTHER),
    ]
    config = AnswerPlanConfig(sections=(SectionType.DEFINITION, SectionType.FEATURES))
    assert build_answer_plan(bullets, config).sources == ("[c#1]", "[c#3]", "[c#2]")


def test_no_bullets_make_an_empty_plan():
    assert build_answer_plan([], AnswerPlanConfig()) == AnswerPlan((), 0, ())


# --- the prompt -------------------------------------------------------------------------------------

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
Format the following information into a clear, concise answer. Keep citations [source_id] intact. Organize \
by the sections provided.

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


def test_question_comes_before_the_instructions():
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


def test_markdown_and_plain_differ_by_their_marks():
    assert render() == MARKDOWN
    assert render(format_style=FormatStyle.PLAIN) == PLAIN


def test_json_has_the_same_content():
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


def test_source_with_several_citations_is_listed_once():
    shared = [bullet("one", lines=(0, 1)), bullet("two", lines=(4, 6)), bullet("three", lines=(0, 1))]
    assert "- [demo-docs#0] README.md#L1-L1, README.md#L5-L6\n" in render(shared)
    assert "Found 3 relevant pieces of information from 1 sources." in render(shared)


def test_lowest_scored_bullet_is_left_out_with_its_section_and_source():
    prompt = render(count_tokens=words, max_prompt_tokens=words(MARKDOWN) - 1)
    assert "Found 2 relevant pieces of information from 2 sources." in prompt
    assert "Sub-3ms" not in prompt
    assert "Key Features" not in prompt
    assert "vectorizer-source#5" not in prompt


def test_later_one_of_equal_bullets_is_left_out():
    bullets = [bullet(f"bullet number {i}", 0.5, source_id=f"c#{i}") for i in range(3)]
    prompt = render(bullets, count_tokens=words, max_prompt_tokens=words(render(bullets)) - 1)
    assert re.findall(r"number (\d)", prompt) == ["0", "1"]


@pytest.mark.parametrize("style", FormatStyle)
def test_prompt_without_room_says_so_or_is_empty(style):
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


def test_bullets_without_a_section_are_shown():
    plan = build_answer_plan(BULLETS, AnswerPlanConfig(sections=(SectionType.USE_CASES,)))
    prompt = render_llm_prompt(plan, BULLETS, PromptRenderConfig())
    assert "### 📎 Further Evidence\n\n1. Vectorizer is" in prompt
    assert "Found 3 relevant" in prompt


def test_counts_are_of_the_shown_bullets():
    sections = (SectionType.DEFINITION, SectionType.FEATURES)
    plan = build_answer_plan(BULLETS, AnswerPlanConfig(sections=sections, max_bullets_per_section=1))
    assert "Found 2 relevant pieces of information from 2 sources." in render_llm_prompt(
        plan, BULLETS, PromptRenderConfig()
    )


@pytest.mark.parametrize("style", FormatStyle)
def test_no_evidence_makes_no_prompt(style):
    assert render_llm_prompt(AnswerPlan((), 0, ()), [], PromptRenderConfig(format_style=style)) == ""


def read(prompt, style):
    """Return the texts of the bullets, the counts of pieces and sources, and the listed sources."""
    if style is FormatStyle.JSON:
        data = json.loads(prompt)
        texts = [entry["text"] for section in data["sections"] for entry in section["evidence"]]
        return texts, *data["found"].values(), [source["id"] for source in data["sources"]]
    found = re.search(r"Found (\d+) relevant pieces of information from (\d+) sources\.", prompt)
    texts = re.findall(r"^\d+\. (.*) \[[^\]]*\]$", prompt, re.MULTILINE)
    return texts, int(found[1]), int(found[2]), re.findall(r"^(?:- )?\[(.*?)\]", prompt, re.MULTILINE)


COUNTERS = {
    "words": words,
    "four characters": lambda text: math.ceil(len(text) / 4),
    "characters": len,
    "three bytes": lambda text: len(text.encode()) // 3,
    "the code model's words": load_vocabulary().count,
}
TEXTS = st.text(alphabet='abc é😀"\\', min_size=1, max_size=300).map(
    lambda text: " ".join(text.split()) or "x"
)
PLACES = st.tuples(TEXTS, st.floats(0, 1), st.sampled_from(list(BulletCategory)), st.integers(0, 9))


@pytest.mark.parametrize("style", FormatStyle)
@given(
    places=st.lists(PLACES, min_size=1, max_size=25, unique_by=lambda place: place[1]),
    budgets=st.lists(st.integers(0, 8000), min_size=1, max_size=3).map(sorted),
    counter=st.sampled_from([*COUNTERS]),
)
def test_budget_is_filled_with_the_best_whole_bullets(places, budgets, counter, style):
    count, before = COUNTERS[counter], 0
    bullets = [
        bullet(text, score, category=category, source_id=f"c#{index}", lines=(index, index + 1))
        for text, score, category, index in places
    ]
    best_first = sorted(bullets, key=lambda each: -each.score)
    for budget in budgets:
        options = {"count_tokens": count, "max_prompt_tokens": budget, "format_style": style}
        prompt, pieces = render(bullets, **options), 0
        assert count(prompt) <= budget
        assert render(bullets, **options) == prompt
        if prompt and "none fits into" not in prompt:
            shown, pieces, sources, listed = read(prompt, style)
            assert sorted(shown) == sorted(each.text for each in best_first[:pieces])
            assert sources == len(listed) == len(set(listed))
        assert pieces >= before
        if pieces < len(bullets):  # one more does not fit
            more = render(best_first[: pieces + 1], count_tokens=lambda _: 0, format_style=style)
            assert count(more) > budget
        before = pieces
