"""Stage 8: arrange bullets in the sections of an answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from cairn.protocol.evidence import AnswerPlan, Bullet, Section
from cairn.settings.discovery import AnswerPlanConfig, BulletCategory, SectionType

# The section for further evidence has the bullets that fit into no other section.
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
    """Return the sections of `config.sections`, in that order, each with its best bullets.

    A section has at most `config.max_bullets_per_section` bullets, and is left out with fewer than
    `config.min_bullets_per_section`. All other bullets, also those without a section for their category, are
    in the section of further evidence, whose only limit is the prompt's budget. Priorities number the
    sections from 1. `total_bullets` and `sources` cover all bullets; sources are in the order of first use.
    """
    by_category: defaultdict[BulletCategory, list[Bullet]] = defaultdict(list)
    ranked = sorted(bullets, key=lambda bullet: -bullet.score)
    for bullet in ranked:
        by_category[bullet.category].append(bullet)
    chosen: dict[SectionType, list[Bullet]] = {}
    for section_type in dict.fromkeys(config.sections):
        best = by_category[SECTIONS[section_type][0]][: config.max_bullets_per_section]
        chosen[section_type] = best if len(best) >= config.min_bullets_per_section else []
    if SectionType.OTHER in chosen:
        chosen[SectionType.OTHER] = []
        placed = {id(bullet) for best in chosen.values() for bullet in best}
        chosen[SectionType.OTHER] = [bullet for bullet in ranked if id(bullet) not in placed]
    sections = [
        Section(SECTIONS[section_type][1], section_type, priority, tuple(best))
        for priority, (section_type, best) in enumerate(((t, b) for t, b in chosen.items() if b), 1)
    ]
    used = [bullet for section in sections for bullet in section.bullets]
    sources = dict.fromkeys(f"[{bullet.source_id}]" for bullet in (*used, *bullets))
    return AnswerPlan(tuple(sections), len(bullets), tuple(sources))
