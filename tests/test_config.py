"""One tree of settings: the most specific value wins, what cannot be used is reported and left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from cairn.config import (
    DiscoveryConfig,
    FormatStyle,
    SectionType,
    Settings,
    load_workspace_file,
    overlay,
    snake_case,
)
from cairn.schema import camel_case


def test_values_are_laid_over_the_defaults_and_nothing_else_changes() -> None:
    settings, warnings = overlay(
        Settings(), {"discovery": {"broadK": 7, "render": {"format_style": "json"}}}, ""
    )
    assert (settings.discovery.broad_k, settings.discovery.render.format_style) == (7, FormatStyle.JSON)
    assert settings.index == Settings().index
    assert warnings == []


def test_every_setting_can_be_named_in_both_ways() -> None:
    def names(settings: Any) -> list[str]:
        values = {field.name: getattr(settings, field.name) for field in attrs.fields(type(settings))}
        return [
            *values,
            *(name for value in values.values() if attrs.has(type(value)) for name in names(value)),
        ]

    for name in names(Settings()):
        assert snake_case(camel_case(name)) == snake_case(name) == name
    config, warnings = overlay(DiscoveryConfig(), {"focusTopNCollections": 1}, "config")
    assert (config.focus_top_n_collections, warnings) == (1, [])


def test_lists_become_typed_tuples() -> None:
    config, warnings = overlay(DiscoveryConfig(), {"plan": {"sections": ["features"]}}, "config")
    assert config.plan.sections == (SectionType.FEATURES,)
    assert warnings == []


@pytest.mark.parametrize(
    ("values", "place"),
    [
        (
            {"index": {"maxFileByte": 3}},
            "cairn.index.maxFileByte: unknown setting; did you mean maxFileBytes?",
        ),
        ({"index": {"maxFileBytes": "3"}}, "cairn.index.maxFileBytes: expected a whole number"),
        ({"index": {"maxFileBytes": -3}}, "cairn.index.maxFileBytes: expected zero or more"),
        ({"index": []}, "cairn.index: expected a table"),
        (
            {"discovery": {"render": {"formatStyle": "html"}}},
            "cairn.discovery.render.formatStyle: expected one of",
        ),
        ({"index": {"exclude": [1]}}, "cairn.index.exclude: expected a string"),
        ({"search": {"synonyms": ["home"]}}, "cairn.search.synonyms: expected an object, got ['home']"),
        ({"search": {"synonyms": {"home": 3}}}, "cairn.search.synonyms: home: expected a string, got 3"),
        ({"search": {"synonyms": {3: "home"}}}, "cairn.search.synonyms: expected a string as a key, got 3"),
    ],
)
def test_a_bad_value_is_reported_with_its_place_and_the_default_stays(
    values: dict[str, object], place: str
) -> None:
    settings, warnings = overlay(Settings(), values, "cairn")
    assert settings == Settings()
    assert len(warnings) == 1
    assert warnings[0].startswith(place)


def test_the_workspace_file_is_read(tmp_path: Path) -> None:
    (tmp_path / ".cairn.toml").write_text('[index]\nexclude = ["vendor/"]\n')
    settings, warnings = load_workspace_file(Settings(), tmp_path)
    assert settings.index.exclude == ("vendor/",)
    assert warnings == []


def test_synonyms_of_several_places_add_up_and_their_keys_stay_as_they_are(tmp_path: Path) -> None:
    user, _ = overlay(Settings(), {"search": {"synonyms": {"home_page": "home", "a": "b"}}}, "")
    (tmp_path / ".cairn.toml").write_text('[search.synonyms]\n"quick links" = "shortcuts"\na = "c"\n')
    settings, warnings = load_workspace_file(user, tmp_path)
    assert settings.search.synonyms == {"home_page": "home", "a": "c", "quick links": "shortcuts"}
    assert warnings == []
    assert hash(settings) == hash(settings)


@pytest.mark.parametrize("content", [b"[index\n", b"\xff\xfe\x00"])
def test_a_broken_workspace_file_warns_and_the_defaults_stay(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".cairn.toml").write_bytes(content)
    settings, warnings = load_workspace_file(Settings(), tmp_path)
    assert settings == Settings()
    assert warnings[0].startswith(".cairn.toml is not used")


def test_discovery_defaults_are_those_of_its_specification() -> None:
    config = DiscoveryConfig()
    assert (config.scoring.name_match_weight, config.scoring.term_boost_weight) == (0.4, 0.3)
    assert (config.expansion.max_expansions, config.broad.mmr_lambda, config.broad.dedup_threshold) == (
        8,
        0.7,
        0.85,
    )
    assert (config.broad.similarity_threshold, config.focus.similarity_threshold) == (0.3, 0.35)
    assert (config.focus.context_window, config.readme.readme_boost) == (3, 1.5)
    assert (config.compression.min_sentence_words, config.compression.max_sentence_words) == (8, 30)
    assert (config.plan.max_bullets_per_section, config.render.max_prompt_tokens) == (5, 4000)
    assert config.filter.default_exclude == ("*-test", "*-backup")
