import assert from "node:assert/strict";
import { test } from "node:test";

import { History } from "../../../src/panel/history.ts";

void test("a new entry replaces those that lie forward", () => {
  const history = new History<string>();
  for (const each of ["a", "b", "c"]) history.add(each);
  history.move("back");
  history.move("back");
  history.add("d");
  assert.equal(history.current, "d");
  assert.equal(history.canGoForward, false);
  history.move("back");
  assert.equal(history.current, "a");
});

void test("an empty history has no current entry and goes nowhere", () => {
  const history = new History<string>();
  assert.equal(history.current, undefined);
  assert.deepEqual([history.move("back"), history.move("forward")], [false, false]);
  history.add("a");
  history.clear();
  assert.equal(history.current, undefined);
});

void test("a long history forgets its oldest entries", () => {
  const history = new History<number>();
  for (let each = 0; each < 1000; each++) history.add(each);
  assert.equal(history.current, 999);
  while (history.canGoBack) history.move("back");
  assert.equal(history.current, 950);
});
