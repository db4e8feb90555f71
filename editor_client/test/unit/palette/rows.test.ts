import assert from "node:assert/strict";
import { test } from "node:test";

import { resultRow, type Row, rowsOf, titleOf } from "../../../src/palette/rows.ts";
import { result, searchAnswer, verdict } from "../results.ts";

const alone = () => undefined;
const kinds = (rows: Row[]) => rows.map(({ kind }) => kind).join(" ");

void test("a row names the symbol, the line that names it, the type and the reasons", () => {
  const row = resultRow(result());
  assert.equal(row.label, "$(symbol-method) App.add_url_rule");
  assert.equal(row.description, "src/flask/app.py:595");
  assert.equal(row.detail, "code · url, rule · defines the symbol, commit subjects");
});

void test("without a symbol the type decides about the icon; without a title the path is shown", () => {
  const row = resultRow(result({ symbolKind: "", title: "", type: "prose", path: "docs/a.md" }));
  assert.equal(row.label, "$(book) docs/a.md");
});

void test("what is found is never taken for an icon", () => {
  const row = resultRow(result({ title: "$(rm) run", matchedTerms: ["$(rm)"] }));
  assert.ok(!row.label.slice("$(symbol-method)".length).includes("$("));
  assert.ok(!row.detail?.includes("$("));
});

void test("folders are named where there are several", () => {
  assert.equal(resultRow(result(), "server").description, "server • src/flask/app.py:595");
});

void test("results keep their order, and the question can be taken on", () => {
  const rows = rowsOf(searchAnswer([result({ title: "b" }), result({ title: "a" })]), "what", alone);
  assert.equal(kinds(rows), "result result discover");
  assert.match(rows[0]?.label ?? "", /b$/);
  assert.match(rows[2]?.label ?? "", /“what”/);
});

void test("a question back comes first, then what it offers, then the rest", () => {
  const [a, b, c] = [result({ title: "a" }), result({ title: "b" }), result({ title: "c", path: "c.py" })];
  const candidates = [
    { title: "c", category: "", path: "c.py" },
    { title: "a", category: "", path: a.path },
    { title: "gone", category: "", path: "gone.py" },
  ];
  const asked = verdict({ action: "clarify", message: "Do you mean c or a?", candidates });
  const rows = rowsOf(searchAnswer([a, b, c], { verdict: asked }), "q", alone);
  assert.equal(kinds(rows), "question result result result discover");
  assert.match(rows[0]?.label ?? "", /Do you mean c or a\?/);
  assert.deepEqual(
    rows.flatMap((row) => (row.kind === "result" ? [row.result.title] : [])),
    ["c", "a", "b"],
  );
  assert.ok(rows[0]?.kind === "question");
  assert.deepEqual(rows[0].offers, [c, a]);
});

void test("a question without anything to choose from is not shown", () => {
  const asked = verdict({ action: "clarify", message: "Which?", candidates: [] });
  assert.equal(kinds(rowsOf(searchAnswer([result()], { verdict: asked }), "q", alone)), "result discover");
});

void test("where nothing matches well, that is said before what is nearest", () => {
  const none = verdict({ action: "noMatch", message: "Which part should I explain?" });
  const rows = rowsOf(searchAnswer([result()], { verdict: none }), "q", alone);
  assert.equal(kinds(rows), "note result discover");
  assert.match(rows[0]?.detail ?? "", /Which part should I explain\?/);
});

void test("where nothing is found, the next step depends on whether the index is complete", () => {
  const advice = (complete: boolean, note = "") => {
    const index = { generation: 1, complete, remaining: [], note, revisions: [], source: "" };
    return rowsOf(searchAnswer([], { index }), "q", alone)[0]?.detail ?? "";
  };
  assert.match(advice(true), /other words/);
  assert.match(advice(false), /not complete yet/);
  assert.match(advice(true, "Nothing is indexed: .gitignore:1: *"), /\.gitignore:1/);
});

void test("the title says of which commit a team's index speaks, and that indexing goes on", () => {
  const title = (complete: boolean, source: string) => {
    const index = { generation: 1, complete, remaining: [], note: "", revisions: [], source };
    return titleOf(searchAnswer([], { index }));
  };
  assert.equal(title(true, ""), "Cairn: Search");
  assert.equal(title(false, ""), "Cairn: Search (indexing goes on)");
  const source = "From the team's index: gson, main at 1a2b3c4d.";
  assert.equal(title(true, source), "Cairn: Search (From the team's index: gson, main at 1a2b3c4d)");
});
