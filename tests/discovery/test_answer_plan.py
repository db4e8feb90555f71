"""Stage 8: sections, their order and their sizes."""

from __future__ import annotations

import pytest
from tests.discovery.discovery_builders import bullet

from cairn.discovery.render import build_answer_plan
from cairn.protocol.discovery_messages import AnswerPlan
from cairn.settings.discovery import AnswerPlanConfig, BulletCategory, SectionType

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
