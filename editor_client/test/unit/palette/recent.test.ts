import assert from "node:assert/strict";
import { test } from "node:test";

import type { Memento } from "vscode";

import { RecentQuestions } from "../../../src/palette/recent.ts";

/** The state of a workspace, in memory. */
function memory(): Memento {
  const kept = new Map<string, unknown>();
  return {
    keys: () => [...kept.keys()],
    get: <T>(key: string, otherwise?: T) => (kept.get(key) ?? otherwise) as T,
    update: (key, value) => Promise.resolve(void kept.set(key, value)),
  };
}

void test("the latest question is first, and each is there once", () => {
  const recent = new RecentQuestions(memory());
  for (const typed of ["a", "b ", "lang:go a", " a"]) recent.add(typed);
  assert.deepEqual(recent.all(), ["a", "lang:go a", "b"]);
});

void test("filters alone are no question", () => {
  const recent = new RecentQuestions(memory());
  for (const typed of ["", "  ", "path:/docs/ "]) recent.add(typed);
  assert.deepEqual(recent.all(), []);
});

void test("only the latest questions are kept", () => {
  const recent = new RecentQuestions(memory());
  for (let number = 1; number <= 30; number++) recent.add(`question ${number}`);
  assert.equal(recent.all()[0], "question 30");
  assert.ok(recent.all().length < 20);
});

void test("a question is removed, and so are all", () => {
  const recent = new RecentQuestions(memory());
  for (const typed of ["a", "b", "c"]) recent.add(typed);
  recent.remove("b");
  assert.deepEqual(recent.all(), ["c", "a"]);
  recent.clear();
  assert.deepEqual(recent.all(), []);
});
