import assert from "node:assert/strict";
import { test } from "node:test";

import {
  leadsTo,
  lookAlike,
  recentRows,
  relatedRow,
  resultRow,
  type Row,
  rowsOf,
  titleOf,
  toggleReasons,
} from "../../../src/palette/rows.ts";
import { lines, result, searchAnswer, verdict } from "../results.ts";

const alone = () => undefined;
const matchedLine = { line: 596, text: "self.url_map.add(rule)", marks: [] };
const kinds = (rows: Row[]) => rows.map(({ kind }) => kind).join(" ");

void test("a row names the symbol and the line that names it, above the line that matches best", () => {
  const row = resultRow(result({ matchedLine }));
  assert.equal(row.label, "$(symbol-method) App.add_url_rule");
  assert.equal(row.description, "src/flask/app.py:595");
  assert.equal(row.detail, "597: self.url_map.add(rule)");
});

void test("a result that only its meaning found says what kind of text it is", () => {
  assert.equal(resultRow(result()).detail, "code · python");
});

void test("a related passage says how it is related", () => {
  assert.equal(relatedRow(result({ reasons: ["calls `go`", "same file"] })).detail, "calls `go`, same file");
});

void test("without a symbol the type decides about the icon; without a title the path is shown", () => {
  const row = resultRow(result({ symbolKind: "", title: "", type: "prose", path: "docs/a.md" }));
  assert.equal(row.label, "$(book) docs/a.md");
});

void test("what is found is never taken for an icon", () => {
  const row = resultRow(result({ title: "$(rm) run", matchedLine: { ...matchedLine, text: "$(rm)" } }));
  assert.ok(!row.label.slice("$(symbol-method)".length).includes("$("));
  assert.ok(!row.detail?.includes("$("));
});

void test("folders are named where there are several", () => {
  assert.equal(resultRow(result(), "server").description, "server • src/flask/app.py:595");
});

void test("results keep their order, and the question can be taken on", () => {
  const rows = rowsOf(searchAnswer([result({ title: "b" }), result({ title: "a" })]), alone);
  assert.equal(kinds(rows), "result result discover");
  assert.match(rows[0]?.label ?? "", /b$/);
});

void test("places that were left out are counted after the results", () => {
  const further = [
    { word: "kill", places: 6 },
    { word: "$(rm)", places: 1 },
  ];
  const rows = rowsOf(searchAnswer([result()], { further }), alone);
  assert.equal(kinds(rows), "result further further discover");
  assert.equal(rows[1]?.label, "$(search) 6 more places hold “kill”");
  assert.equal(rows[2]?.label, "$(search) 1 more place holds “$\u200b(rm)”");
  assert.ok(rows[2].kind === "further");
  assert.equal(rows[2].word, "$(rm)");
});

void test("the reasons of one result are shown below it, and hidden again", () => {
  const explained = result({ title: "a", matchExplain: ["defines the symbol: 1 × 2 = +2"] });
  const rows = rowsOf(searchAnswer([explained, result({ title: "b", path: "b.py" })]), alone);
  const [first, second] = rows;
  assert.ok(first?.kind === "result" && second?.kind === "result");
  const shown = toggleReasons(rows, first);
  assert.equal(kinds(shown), "result reason reason result discover");
  assert.equal(shown[1]?.label, "\u2003\u2002score 0.50, found by hybrid; words: url, rule");
  assert.equal(shown[2]?.label, "\u2003\u2002defines the symbol: 1 × 2 = +2");
  assert.equal(kinds(toggleReasons(shown, second)), "result result reason reason reason discover");
  assert.deepEqual(toggleReasons(shown, first), rows);
});

void test("the same results look alike, unless another line matches best", () => {
  const rows = (...results: Parameters<typeof searchAnswer>[0]) => rowsOf(searchAnswer(results), alone);
  assert.ok(lookAlike(rows(result({ matchedLine })), rows(result({ matchedLine, score: 0.7 }))));
  assert.ok(!lookAlike(rows(result({ matchedLine })), rows(result())));
  assert.ok(!lookAlike(rows(result()), rows(result(), result())));
});

void test("a row of another answer leads to the same place, if path and line are the same", () => {
  const row = resultRow(result({ title: "renamed", matchedLine }));
  assert.ok(leadsTo(row, result()));
  assert.ok(!leadsTo(row, result({ path: "src/flask/cli.py" })));
  assert.ok(!leadsTo(row, result({ selectionRange: lines(599, 600) })));
});

void test("a question back comes first, then what it offers, then the rest", () => {
  const [a, b, c] = [result({ title: "a" }), result({ title: "b" }), result({ title: "c", path: "c.py" })];
  const candidates = [
    { title: "c", category: "", path: "c.py" },
    { title: "a", category: "", path: a.path },
    { title: "gone", category: "", path: "gone.py" },
  ];
  const asked = verdict({ action: "clarify", message: "Do you mean c or a?", candidates });
  const rows = rowsOf(searchAnswer([a, b, c], { verdict: asked }), alone);
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
  assert.equal(kinds(rowsOf(searchAnswer([result()], { verdict: asked }), alone)), "result discover");
});

void test("where nothing matches well, that is said before what is nearest", () => {
  const none = verdict({ action: "noMatch", message: "Which part should I explain?" });
  const rows = rowsOf(searchAnswer([result()], { verdict: none }), alone);
  assert.equal(kinds(rows), "note result discover");
  assert.match(rows[0]?.detail ?? "", /Which part should I explain\?/);
});

void test("where nothing is found, the next step depends on whether the index is complete", () => {
  const advice = (complete: boolean, note = "") => {
    const index = { generation: 1, complete, remaining: [], note, revisions: [], source: "" };
    return rowsOf(searchAnswer([], { index }), alone)[0]?.detail ?? "";
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

void test("an empty palette shows the recent questions, and offers to remove all", () => {
  const rows = recentRows(["where is $(it)", "type:code parse"]);
  assert.equal(kinds(rows), "separator recent recent forget");
  assert.equal(rows[0]?.label, "Recent questions");
  assert.equal(rows[1]?.label, "$(history) where is $\u200b(it)");
  assert.ok(rows[2]?.kind === "recent");
  assert.equal(rows[2].typed, "type:code parse");
});

void test("without recent questions one row says what can be typed, with names of the workspace", () => {
  const [row, ...others] = recentRows([], ["Flask", "Blueprint", "url_for", "abort"]);
  assert.deepEqual(others, []);
  assert.equal(row?.detail, "For example: Flask · how does Blueprint work · type:prose url_for");
  assert.match(recentRows([])[0]?.detail ?? "", /^For example: how is .* · type:prose /);
});
