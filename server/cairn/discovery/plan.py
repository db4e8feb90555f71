"""Stage 8: bullets arranged into the sections of an answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from cairn.config import AnswerPlanConfig, SectionType
from cairn.discovery.model import AnswerPlan, Bullet, BulletCategory, Section

# S1's titles. S1 has no section for what fits none of its six; without one, such evidence is lost.
SECTIONS: dict[SectionType, tuple[BulletCategory, str]] = {
    SectionType.DEFINITION: (BulletCategory.DEFINITION, "📋 Definition"),
    SectionType.FEATURES: (BulletCategory.FEATURE, "✨ Key Features"),
    SectionType.ARCHITECTURE: (BulletCategory.ARCHITECTURE, "🏗️ Architecture"),
    SectionType.PERFORMANCE: (BulletCategory.PERFORMANCE, "⚡ Performance"),
    SectionType.INTEGRATIONS: (BulletCategory.INTEGRATION, "🔗 Integrations"),
    SectionType.USE_CASES: (BulletCategory.USE_CASE, "🎯 Use Cases"),
    SectionType.OTHER: (BulletCategory.OTHER, "📎 Further Evidence"),
}


def build_answer_plan(bullets: Sequence[Bullet], config: AnswerPlanConfig) -> AnswerPlan:
    """The sections of `config.sections`, in that order, each with its best bullets (S1, stage 8).

    A section has at most `config.max_bullets_per_section` bullets and is left out below
    `config.min_bullets_per_section`. Priorities count from 1 over the sections that are there.
    `total_bullets` and `sources` speak of all bullets given, also of those that found no place; sources
    stand in the order in which the sections use them.
    """
    by_category: defaultdict[BulletCategory, list[Bullet]] = defaultdict(list)
    for bullet in sorted(bullets, key=lambda bullet: -bullet.score):
        by_category[bullet.category].append(bullet)
    sections: list[Section] = []
    for section_type in dict.fromkeys(config.sections):
        category, title = SECTIONS[section_type]
        chosen = by_category[category][: config.max_bullets_per_section]
        if chosen and len(chosen) >= config.min_bullets_per_section:
            sections.append(Section(title, section_type, tuple(chosen), priority=len(sections) + 1))
    used = [bullet for section in sections for bullet in section.bullets]
    sources = dict.fromkeys(f"[{bullet.source_id}]" for bullet in (*used, *bullets))
    return AnswerPlan(tuple(sections), len(bullets), tuple(sources))
