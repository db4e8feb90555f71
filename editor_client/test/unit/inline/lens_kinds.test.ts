import assert from "node:assert/strict";
import { test } from "node:test";

import { sectionsOf } from "../../../src/inline/lens_kinds.ts";

function announced(title: string, command = "any.command"): string[] {
  return [...sectionsOf([{ command: { title, command } }])];
}

void test("a lens that counts what Cairn counts is of the same kind", () => {
  assert.deepEqual(announced("3 references"), ["callers"]);
  assert.deepEqual(announced("1 reference"), ["callers"]);
  assert.deepEqual(announced("no usages"), ["callers"]);
  assert.deepEqual(announced("$(references) 2 callers"), ["callers"]);
  assert.deepEqual(announced("2 implementations"), ["overrides"]);
  assert.deepEqual(announced("1 Override"), ["overrides"]);
  assert.deepEqual(announced("4 tests"), ["tests"]);
});

void test("a lens with a translated title is known by its command", () => {
  assert.deepEqual(announced("3 Verweise", "editor.action.showReferences"), ["callers"]);
  assert.deepEqual(announced("2 Implementierungen", "java.show.implementations"), ["overrides"]);
});

void test("the title counts more than the command", () => {
  assert.deepEqual(announced("2 implementations", "editor.action.showReferences"), ["overrides"]);
});

void test("a lens that does something is of another kind", () => {
  for (const title of ["Run Test", "▶︎ Run Test", "Debug", "Run 3 tests", "2 authors"]) {
    assert.deepEqual(announced(title), []);
  }
});

void test("a lens that is not resolved says nothing", () => {
  assert.deepEqual([...sectionsOf([{}])], []);
});
