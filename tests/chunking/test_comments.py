"""Comments become plain text."""

import pytest

from cairn.chunking.comments import COMMENT_LIMIT, comment_text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("# Says hello.\n# Twice.", "Says hello.\nTwice."),
        ("#: An attribute.", "An attribute."),
        ("// Says hello.", "Says hello."),
        ("/// Says hello.\n///\n/// Twice.", "Says hello.\n\nTwice."),
        ("//! A crate.", "A crate."),
        ("/**\n * Says hello.\n *\n * @param a b\n */", "Says hello.\n\n@param a b"),
        ("/* One line. */", "One line."),
        ('"""Says hello."""', "Says hello."),
        ('r"""\n    Says hello.\n    """', "Says hello."),
        ("-- | Says hello.", "Says hello."),
        ("{- Says hello. -}", "Says hello."),
        ("(** Says hello. *)", "Says hello."),
        (";;; Says hello.", "Says hello."),
        ("%% Says hello.", "Says hello."),
        ('@doc """\nSays hello.\n"""', "Says hello."),
        ("/// <summary>\n/// Says hello.\n/// </summary>", "Says hello."),
        ("# --------\n# Section\n# --------", "Section"),
        ("#!/bin/sh\n# -*- coding: utf-8 -*-\n# eslint-disable\n# Says hello.", "Says hello."),
        ("# pylint: disable=all", ""),
        ("* item", "item"),
        ("", ""),
    ],
)
def test_marks_and_directives_are_removed(raw: str, text: str) -> None:
    assert comment_text(raw) == text


_LICENCE = """/*
 * Copyright (C) 2010 The Authors
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 *
 * Unless required by applicable law or agreed to in writing, software
 * is distributed WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND.
 *
 * Schedules ships into berths.
 */"""


def test_header_loses_only_its_licence() -> None:
    assert comment_text(_LICENCE, is_header=True) == "Schedules ships into berths."


def test_comment_about_licences_outside_a_header_stays() -> None:
    assert comment_text("// Checks that the licence is under MIT license.") != ""


def test_long_comments_are_cut_between_words() -> None:
    text = comment_text("# " + "word " * 500)
    assert len(text) <= COMMENT_LIMIT
    assert text.endswith("word")
