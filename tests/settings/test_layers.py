"""Layers of settings: the highest priority wins, and invalid values are reported and ignored."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from tests.settings.setting_trees import Write, attributes

from cairn.engine.folders import FolderSettings
from cairn.retrieval.signals import SIGNALS
from cairn.schema.convert import camel_case, snake_case
from cairn.settings.discovery import DiscoveryConfig, FormatStyle, SectionType
from cairn.settings.layers import Layers, overlay
from cairn.settings.marks import limits_of
from cairn.settings.sources import user_file
from cairn.settings.tree import Settings, leaves


def test_overlay_changes_only_given_values() -> None:
    settings, warnings = overlay(
        Settings(), {"discovery": {"broadK": 7, "render": {"format_style": "json"}}}, ""
    )
    assert (settings.discovery.broad_k, settings.discovery.render.format_style) == (7, FormatStyle.JSON)
    assert settings.index == Settings().index
    assert warnings == []


def test_keys_are_snake_case_or_camel_case() -> None:
    for name in {name for keys in attributes() for name in keys}:
        assert snake_case(camel_case(name)) == snake_case(name) == name
    config, warnings = overlay(DiscoveryConfig(), {"focusTopNCollections": 1}, "config")
    assert (config.focus_top_n_collections, warnings) == (1, [])


def test_tables_in_both_spellings_are_merged() -> None:
    values = {"kill_switch": {"p95_ms": 1}, "killSwitch": {"min_queries": 2}}
    settings, warnings = overlay(Settings(), {"retrieval": values}, "cairn")
    assert (settings.retrieval.kill_switch.p95_ms, settings.retrieval.kill_switch.min_queries) == (1, 2)
    assert warnings == []


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
        ({"index": {"maxFileBytes": -3}}, "cairn.index.maxFileBytes: expected zero or more, got -3"),
        ({"index": []}, "cairn.index: expected a table"),
        # These were settings of earlier versions.
        (
            {"search": {"verdict": {"minLead": 1}}},
            "cairn.search.verdict.minLead: has no effect any more; use min_evidence and sure_evidence",
        ),
        (
            {"search": {"diversity": {"fileName": 1}}},
            "cairn.search.diversity.fileName: has no effect any more",
        ),
        ({"index": {"keep_vectors_mb": 9}}, "cairn.index.keep_vectors_mb: has no effect any more"),
        ({"embedding": {"batchSize": 16}}, "cairn.embedding.batchSize: has no effect any more"),
        ({"index": {"batchSize": 16}}, "cairn.index.batchSize: unknown setting"),
        (
            {"discovery": {"render": {"formatStyle": "html"}}},
            "cairn.discovery.render.formatStyle: expected one of",
        ),
        ({"index": {"exclude": [1]}}, "cairn.index.exclude: expected a string"),
        ({"search": {"synonyms": ["home"]}}, "cairn.search.synonyms: expected an object, got ['home']"),
        ({"search": {"synonyms": {"home": 3}}}, "cairn.search.synonyms: home: expected a string, got 3"),
        ({"search": {"synonyms": {3: "home"}}}, "cairn.search.synonyms: expected a string as a key, got 3"),
        ({3: {}}, "cairn.3: unknown setting"),
        ({"retrieval": {"phase": 7}}, "cairn.retrieval.phase: expected 1 to 3, got 7"),
        (
            {"retrieval": {"killSwitch": {"errorRate": 3}}},
            "cairn.retrieval.killSwitch.errorRate: expected 0 to 1, got 3",
        ),
        ({"serve": {"port": 70_000}}, "cairn.serve.port: expected 0 to 65,535, got 70000"),
        ({"search": {"legDeadlineMs": math.inf}}, "cairn.search.legDeadlineMs: expected 0 to 600,000, got inf"),  # noqa: E501
        ({"search": {"legDeadlineMs": math.nan}}, "cairn.search.legDeadlineMs: expected a number, got NaN"),
        ({"search": {"synonyms": {"\x1b\n": 3}}}, r"cairn.search.synonyms: \x1b\n: expected a string, got 3"),
        ({"search": {"weights": {"x": -1e9}}}, "cairn.search.weights: x: expected -1,000 to 1,000, got -1"),
        ({"search": {"weights": {"x": math.inf}}}, "cairn.search.weights: x: expected -1,000 to 1,000, got inf"),  # noqa: E501
        ({"search": {"candidates": 16**5000}}, "cairn.search.candidates: expected 0 to 100,000, got one of 20,001 bits"),  # noqa: E501
    ],
)  # fmt: skip
def test_invalid_value_warns_and_keeps_the_default(values: dict[str, object], place: str) -> None:
    settings, warnings = overlay(Settings(), values, "cairn")
    assert settings == Settings()
    assert len(warnings) == 1
    assert warnings[0].startswith(place)


def test_invalid_value_does_not_affect_valid_ones() -> None:
    settings, warnings = overlay(Settings(), {"serve": {"port": 70_000, "lspPort": 1}, "x": 1}, "cairn")
    assert (settings.serve.port, settings.serve.lsp_port) == (7420, 1)
    assert len(warnings) == 2


def test_weights_accept_those_of_all_signals() -> None:
    weights = {signal.title: signal.weight for signal in SIGNALS}
    assert min(weights.values()) < 0
    settings, warnings = overlay(Settings(), {"search": {"weights": weights}}, "cairn")
    assert (settings.search.weights, warnings) == (weights, [])


def test_defaults_are_within_limits() -> None:
    values = leaves(Settings())
    assert {keys for keys, a in attributes().items() if limits_of(a).problem_with(values[keys])} == set()


def test_discovery_defaults_match_the_specification() -> None:
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


@pytest.mark.parametrize(
    ("places", "value", "origin"),
    [
        ("", 1_000, ("default",)),
        ("user", 1, ("{user}",)),
        ("user workspace", 2, (".cairn.toml",)),
        ("user workspace editor", 3, ("editor",)),
        ("user workspace editor environment", 4, ("environment CAIRN_SEARCH__CANDIDATES",)),
        ("workspace editor", 3, ("editor",)),
        ("user environment", 4, ("environment CAIRN_SEARCH__CANDIDATES",)),
        ("workspace", 2, (".cairn.toml",)),
    ],
)
def test_layer_of_highest_priority_wins(
    write: Write, tmp_path: Path, places: str, value: int, origin: tuple[str, ...]
) -> None:
    every: dict[str, Any] = {
        "user": "[search]\ncandidates = 1\n",
        "workspace": "[search]\ncandidates = 2\n",
        "editor": {"search": {"candidates": 3}},
        "environment": {"CAIRN_SEARCH__CANDIDATES": "4"},
    }
    laid = write(**{place: every[place] for place in places.split()}).of(tmp_path)
    keys = ("search", "candidates")
    assert laid.settings.search.candidates == value
    assert laid.origins.get(keys, ("default",)) == tuple(o.format(user=user_file()) for o in origin)
    assert laid.warnings == ()
    assert set(laid.origins) <= {keys}


def test_invalid_value_keeps_that_of_the_lower_layer(write: Write, tmp_path: Path) -> None:
    laid = write(user="[search]\ncandidates = 5\n", editor={"search": {"candidates": -1}}).of(tmp_path)
    assert laid.settings.search.candidates == 5
    assert laid.origins["search", "candidates"] == (str(user_file()),)
    assert laid.texts("editor") == ["cairn.search.candidates: expected 0 to 100,000, got -1"]


def test_lists_are_joined_in_order_of_priority(write: Write, tmp_path: Path) -> None:
    laid = write(
        user='[index]\nexclude = "a"\n',
        workspace='[index]\nexclude = ["b", "c"]\ninclude = ["x"]\n',
        editor={"index": {"exclude": ["d"], "include": ["y"]}},
        environment={"CAIRN_INDEX__EXCLUDE": "e/"},
    ).of(tmp_path)
    assert laid.settings.index.exclude == ("a", "b", "c", "d", "e/")
    places = (str(user_file()), ".cairn.toml", "editor", "environment CAIRN_INDEX__EXCLUDE")
    assert laid.origins["index", "exclude"] == places
    assert laid.settings.index.include == ("y",)


def test_synonyms_are_joined_with_keys_unchanged(write: Write, tmp_path: Path) -> None:
    laid = write(
        user='[search.synonyms]\nhome_page = "home"\na = "b"\n',
        workspace='[search.synonyms]\n"quick links" = "shortcuts"\na = "c"\n',
    ).of(tmp_path)
    assert laid.settings.search.synonyms == {"home_page": "home", "a": "c", "quick links": "shortcuts"}
    assert laid.warnings == ()
    assert hash(laid.settings) == hash(laid.settings)


def test_folder_settings_follow_changes_of_their_file(write: Write, tmp_path: Path) -> None:
    layers = write(user="a = 1\n", workspace="b = 1\n", editor={"search": {"candidates": 3}})
    settings = FolderSettings(layers, tmp_path)
    assert settings.warnings() == [".cairn.toml:1: b: unknown setting"]
    (tmp_path / ".cairn.toml").write_text("[search]\ncandidates = 9\nneighbours = 9\n")
    assert settings.warnings() == []
    assert (settings().search.candidates, settings().search.neighbours) == (3, 9)
    assert settings.without_workspace_file().search.neighbours == 600
    settings.rebase(Layers({}, {}))
    assert settings().search.candidates == 9
