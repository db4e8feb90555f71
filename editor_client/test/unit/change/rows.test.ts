import assert from "node:assert/strict";
import { test } from "node:test";

import { type ChangeRow, contentOfAbsence, contentOfChange, spoken } from "../../../src/change/rows.ts";
import type { ChangeAnswer, ChangedDefinition, ChangedFile, ChangePlace } from "../../../src/protocol.ts";
import { lines } from "../results.ts";

const alone = () => "";

void test("places that still use an old definition come first, and their number is shown", () => {
  const { children, stale } = content({
    changed: [changed()],
    dependents: [place({ isStale: true, about: [0] }), place({ symbol: "other", about: [0] })],
    tests: [place({ path: "tests/test_berths.py", symbol: "test_moor" })],
    companions: [place({ path: "docs/berths.md", kind: "document", symbol: "" })],
    unreached: [place()],
  });
  assert.deepEqual(
    children.map(({ label, description }) => `${label}: ${description}`),
    [
      "Still Use the Old Definition: 1",
      "Changed: 1",
      "Tests to Run: 1",
      "Usually Change With It: 1",
      "Reached by No Test: 1",
    ],
  );
  assert.equal(stale, 1);
  const [warned] = children[0]?.children ?? [];
  assert.equal(warned?.icon, "warning");
  assert.match(spoken(warned), /still uses the old definition$/);
});

void test("a changed definition says what happened to it, and holds what depends on it", () => {
  const { children } = content({
    changed: [changed(), changed({ symbol: "free_berths", kind: "body" })],
    dependents: [place({ line: "    moor(berth)", symbol: "assign", about: [0] }), place({ about: [0, 1] })],
  });
  const [moor, free] = children[0]?.children ?? [];
  assert.equal(moor?.description, "new signature · 2 uses · berths.py:8");
  assert.match(moor.tooltip, /^before: def moor\(self\):$/m);
  assert.equal(free?.description, "body · 1 use · berths.py:8");
  assert.equal(moor.children[0]?.label, "moor(berth)");
  assert.equal(moor.children[0].description, "assign · schedule.py:5");
});

void test("a removed definition opens in the commit that had it, all others in the file as it is", () => {
  const { children } = content({ changed: [changed({ kind: "removed" }), changed()], base: "abc" });
  assert.deepEqual(
    children[0]?.children.map((each) => each.place?.commit),
    ["abc", ""],
  );
});

void test("rows keep their identity when lines move, and no two have the same", () => {
  const given = (line: number): Partial<ChangeAnswer> => ({
    changed: [changed({ range: lines(line, line + 2) }), changed({ range: lines(line + 5, line + 6) })],
    dependents: [place({ isStale: true, about: [0, 1] }), place({ isStale: true, about: [0, 1] })],
  });
  const before = idsOf(content(given(4)).children);
  assert.equal(new Set(before).size, before.length);
  assert.deepEqual(idsOf(content(given(40)).children), before);
});

void test("a file that was not compared says why", () => {
  const { children } = content({ files: [file({ path: "logo.png", problem: "binary file" })] });
  const [logo] = children[0]?.children ?? [];
  assert.equal(`${logo?.label}: ${logo?.description}`, "logo.png: modified · binary file");
});

void test("sentences on what is left out stand above the rows; no change is said, too", () => {
  const messages = ["Not everything was looked at.", "There is no history."];
  assert.equal(content({ messages, files: [file()] }).message, messages.join(" "));
  assert.equal(content({ files: [], messages: [] }).message, "Nothing has changed.");
});

void test("tests can be run if a command for them is known", () => {
  const commands = [{ command: "pytest tests", folder: "", paths: ["tests/test_berths.py"] }];
  assert.equal(content({ commands }).canRunTests, true);
  assert.equal(content({}).canRunTests, false);
});

void test("the folder is named if several are open", () => {
  const answer = { ...empty, changed: [changed()] };
  const { children } = contentOfChange(answer, () => "harbour");
  assert.match(children[0]?.children[0]?.description ?? "", /harbour • berths\.py:8$/);
});

void test("a use that is not sure says so", () => {
  const uses = [place({ isStale: true }), place({ isStale: true, confidence: 0.4 })];
  const [sure, unsure] = content({ dependents: uses }).children[0]?.children ?? [];
  assert.doesNotMatch(sure?.tooltip ?? "", /sure/);
  assert.match(unsure?.tooltip ?? "", /^40 % sure$/m);
});

void test("without a server there is a remedy in place of the rows", () => {
  const { message, children } = contentOfAbsence({ why: "missing" });
  assert.match(message, /not installed/);
  assert.deepEqual(
    children.map(({ action }) => action),
    ["install", "restart"],
  );
});

const empty: ChangeAnswer = {
  files: [file()],
  changed: [],
  dependents: [],
  tests: [],
  commands: [],
  companions: [],
  unreached: [],
  prompt: "",
  promptTokens: 0,
  base: "",
  complete: true,
  messages: [],
  leftOut: {},
  index: { generation: 1, complete: true, remaining: [], note: "", revisions: [], source: "" },
  timings: {},
};

function content(given: Partial<ChangeAnswer>) {
  return contentOfChange({ ...empty, ...given }, alone);
}

function changed(given: Partial<ChangedDefinition> = {}): ChangedDefinition {
  return {
    path: "harbour/berths.py",
    uri: "file:///w/harbour/berths.py",
    folder: "file:///w",
    range: lines(7, 10),
    symbol: "Berth.moor",
    kind: "signature",
    definitionKind: "method",
    line: "    def moor(self, ship):",
    before: {
      path: "harbour/berths.py",
      symbol: "Berth.moor",
      range: lines(7, 10),
      line: "    def moor(self):",
    },
    hunks: [0],
    reasons: [],
    confidence: 1,
    ...given,
  };
}

function place(given: Partial<ChangePlace> = {}): ChangePlace {
  return {
    path: "harbour/schedule.py",
    uri: "file:///w/harbour/schedule.py",
    folder: "file:///w",
    range: lines(4, 5),
    symbol: "assign_berths",
    kind: "call",
    reasons: ["calls it"],
    confidence: 1,
    line: "    berth.moor(ship)",
    isStale: false,
    about: [],
    ...given,
  };
}

function file(given: Partial<ChangedFile> = {}): ChangedFile {
  const path = "harbour/berths.py";
  return {
    path,
    uri: `file:///w/${path}`,
    status: "modified",
    beforePath: null,
    hunks: [],
    problem: "",
    ...given,
  };
}

function idsOf(rows: readonly ChangeRow[]): string[] {
  return rows.flatMap(({ id, children }) => [id, ...idsOf(children)]);
}
