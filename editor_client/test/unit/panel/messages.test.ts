import assert from "node:assert/strict";
import { test } from "node:test";

import { fromWebview } from "../../../src/panel/messages.ts";

const valid = [
  { type: "ready" },
  { type: "openPlace" },
  { type: "back" },
  { type: "forward" },
  { type: "fold", section: "tests", folded: true },
  { type: "fold", section: "empty", folded: false },
  { type: "all", section: "callers" },
  { type: "open", key: "k", index: 0, beside: true },
  { type: "copy", key: "k", index: 12 },
  { type: "run", action: "install" },
];
for (const message of valid) {
  void test(`takes ${JSON.stringify(message)}`, () => {
    assert.deepEqual(fromWebview(message), message);
  });
}

const invalid: unknown[] = [
  undefined,
  null,
  "ready",
  [],
  {},
  { type: "eval" },
  { type: "toString" },
  { type: "open", key: "k", index: 0 },
  { type: "open", key: "k", index: -1, beside: false },
  { type: "open", key: "k", index: 0.5, beside: false },
  { type: "open", key: "k", index: "0", beside: false },
  { type: "open", index: 0, beside: false },
  { type: "copy", key: 1, index: 0 },
  { type: "run", action: "workbench.action.terminal.new" },
  { type: "run" },
  { type: "fold", section: "tests" },
  { type: "fold", section: "__proto__", folded: true },
  { type: "all", section: "similar" },
];
for (const message of invalid) {
  void test(`refuses ${JSON.stringify(message)}`, () => {
    assert.equal(fromWebview(message), undefined);
  });
}

void test("leaves out what does not belong to a message", () => {
  assert.deepEqual(fromWebview({ type: "pin", uri: "file:///etc/passwd" }), { type: "pin" });
});
