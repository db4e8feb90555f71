import assert from "node:assert/strict";
import { test } from "node:test";

import { fold, furtherLines, furtherPassages, resultRowOf, unfold } from "../../../src/palette/passages.ts";
import { leadsTo, type ResultRow, type Row, rowsOf, toggleReasons } from "../../../src/palette/rows.ts";
import type { Occurrences } from "../../../src/protocol.ts";
import { lines, result, searchAnswer } from "../results.ts";

const alone = () => undefined;
const kinds = (rows: readonly Row[]) => rows.map(({ kind }) => kind).join(" ");
const matched = (line: number, text = "text") => ({ line, text, marks: [] });

const first = result({ title: "a", matchedLine: matched(596) });
const other = result({ title: "b", range: lines(40, 50), selectionRange: lines(40, 41) });
const rows = rowsOf(searchAnswer([first, other]), alone);
const later = result({ title: "c", range: lines(700, 720), matchedLine: matched(710, "$(rm) url") });
const latest = result({ title: "", range: lines(800, 820), snippet: "\n  rule()\nmore\n" });

function rowOf(some: readonly Row[], at = 0): ResultRow {
  const row = some[at];
  assert.ok(row?.kind === "result");
  return row;
}

void test("a result is unfolded to passages below it, which lead to their own lines", () => {
  const found = furtherPassages(searchAnswer([later, latest]), rows);
  const shown = unfold(rows, rowOf(rows), found);
  assert.equal(kinds(shown), "result passage passage result discover");
  assert.equal(rowOf(shown).unfolded, 2);
  assert.equal(shown[1]?.label, "\u2003\u2002$(symbol-method) c");
  assert.equal(shown[1].description, "711: $\u200b(rm) url");
  assert.equal(shown[2]?.label, "\u2003\u2002$(symbol-method) app.py");
  assert.equal(shown[2].description, "801: rule()");
  assert.ok(shown[1].kind === "passage");
  assert.equal(shown[1].result.selectionRange.start.line, 710);
  assert.ok(leadsTo(shown[1], { ...later, selectionRange: lines(710, 711) }));
});

void test("a passage that has a row already is left out", () => {
  const answer = searchAnswer([first, later, other]);
  assert.deepEqual(
    furtherPassages(answer, rows).map(({ title }) => title),
    ["c"],
  );
});

void test("there are only as many passages as one can survey", () => {
  const many = Array.from({ length: 50 }, (_, at) => result({ range: lines(1000 + at, 1001 + at) }));
  assert.ok(furtherPassages(searchAnswer(many), rows).length < 10);
});

void test("a row of a result or passage is folded again", () => {
  const found = furtherPassages(searchAnswer([later, latest]), rows);
  const shown = unfold(rows, rowOf(rows), found);
  const both = unfold(shown, rowOf(shown, 3), found);
  assert.equal(kinds(both), "result passage passage result passage passage discover");
  const parent = resultRowOf(both, both[5]);
  assert.equal(parent, both[3]);
  assert.ok(parent);
  assert.deepEqual(fold(both, parent), shown);
  assert.deepEqual(fold(shown, rowOf(shown)), rows);
});

void test("reasons are shown between a result and its passages", () => {
  const shown = unfold(rows, rowOf(rows), [later]);
  const explained = toggleReasons(shown, rowOf(shown));
  assert.match(kinds(explained), /^result reason( reason)* passage result discover$/);
  assert.deepEqual(toggleReasons(explained, rowOf(explained)), shown);
});

void test("where a file has no further passage, this is said until the row is folded", () => {
  const shown = unfold(rows, rowOf(rows), []);
  assert.equal(kinds(shown), "result reason result discover");
  assert.match(shown[1]?.label ?? "", /no further passage/);
  assert.deepEqual(fold(shown, rowOf(shown)), rows);
});

void test("of a name, the other lines with it are the passages", () => {
  const definitions = [
    { symbol: "", kind: "", lines: [matched(3, "import rule")] },
    { symbol: "App.add_url_rule", kind: "method", lines: [matched(594), matched(650, "rule()")] },
  ];
  const { path, folder, uri } = first;
  const found = [{ path, folder, uri, count: 3, definitions }];
  const occurrences = { found } as unknown as Occurrences;
  const passages = furtherLines(searchAnswer([], { occurrences }), first, rows);
  const shown = unfold(rows, rowOf(rows), passages);
  assert.deepEqual(
    shown.slice(1, 3).map(({ label, description }) => [label.trim(), description]),
    [
      ["$(code) app.py", "4: import rule"],
      ["$(symbol-method) App.add_url_rule", "651: rule()"],
    ],
  );
});
