import assert from "node:assert/strict";
import { test } from "node:test";

import type { PassageContent } from "../../../src/panel/messages.ts";
import {
  contentOfAbsence,
  contentOfAnswer,
  quoted,
  revealOf,
  snippet,
  type Surroundings,
} from "../../../src/panel/view_model.ts";
import { answeredIn, lines, result as anyResult } from "../results.ts";
import type {
  ContextAnswer,
  ContextPassage,
  ContextSection,
  SearchResult,
  StatusAnswer,
} from "../../../src/protocol.ts";

const nowhereElse = { canGoBack: false, canGoForward: false };
const alone: Surroundings = { pinned: undefined, indexed: true, status: undefined, folderName: () => "" };

void test("sections stand in the order of their first passages, with the answer's order within", () => {
  const content = contentOfAnswer(
    answer([
      passage({ path: "tests/a.py" }, "tests"),
      passage({ path: "b.py" }, "callers"),
      passage({ path: "docs/c.md" }, "documents"),
      passage({ path: "tests/d.py" }, "tests"),
    ]),
    alone,
  );
  assert.deepEqual(
    content.sections.map(({ heading, passages }) => [
      heading,
      passages.map(({ file, index }) => [file, index]),
    ]),
    [
      [
        "Tests",
        [
          ["a.py", 0],
          ["d.py", 3],
        ],
      ],
      ["Called and used by", [["b.py", 1]]],
      ["Documents", [["c.md", 2]]],
    ],
  );
  assert.equal(content.message, "");
});

void test("callers and tests of an indexed definition can all be listed", () => {
  const given = answer([passage({}, "callers"), passage({}, "tests"), passage({}, "similar")]);
  const links = (around: Surroundings, of = given) =>
    contentOfAnswer(of, around).sections.map(({ all }) => all);
  assert.deepEqual(links(alone), ["All callers", "All tests", ""]);
  assert.deepEqual(links({ ...alone, indexed: false }), ["", "", ""]);
  assert.deepEqual(links(alone, { ...given, place: { ...given.place, symbol: "" } }), ["", "", ""]);
});

void test("empty sections say what fills them, for a function and for a document", () => {
  const ofFunction = contentOfAnswer(answer([passage({}, "callers")]), alone);
  assert.deepEqual(
    ofFunction.empty.map(({ heading }) => heading),
    [
      "Implementations and overrides",
      "Uses",
      "Tests",
      "Counterparts",
      "Documents",
      "Changed together",
      "Similar",
    ],
  );
  assert.equal(
    ofFunction.empty[2]?.filling,
    "Tests that call this, directly or through one other function, appear here.",
  );
  const given = answer([passage({}, "similar")]);
  const place = { ...given.place, path: "docs/guide.md", symbol: "" };
  assert.deepEqual(
    contentOfAnswer({ ...given, place }, alone).empty.map(({ heading }) => heading),
    ["Code it shows", "Counterparts", "Documents", "Changed together"],
  );
});

void test("a section to show that is empty says so, and links to what the index knows", () => {
  const given = answer([passage({}, "callers")]);
  assert.deepEqual(revealOf("callers", given, alone), {
    type: "reveal",
    section: "callers",
    absent: "",
    all: "",
  });
  const { absent, all } = revealOf("tests", given, alone);
  assert.match(absent, /^Nothing is shown under “Tests”\. Tests that call this/);
  assert.equal(all, "All tests");
});

void test("a file that is not indexed is said to be compared by its text", () => {
  const content = contentOfAnswer(answer([passage({})]), { ...alone, indexed: false });
  assert.match(content.notice, /^This file is not indexed\./);
});

void test("a passage has its place, reasons and a label that reads well", () => {
  const drawn = draw(passage({}, "callers", ["calls this", "similar in meaning", "same file", "a fourth"]));
  assert.equal(drawn.title, "App.add_url_rule");
  assert.deepEqual([drawn.file, drawn.line, drawn.directory], ["app.py", 594, "src/flask"]);
  assert.equal(drawn.reasons, "calls this, similar in meaning, same file");
  assert.equal(
    drawn.label,
    "App.add_url_rule, src/flask/app.py line 594, calls this, similar in meaning, same file",
  );
  assert.deepEqual(drawn.why, [
    { words: "calls this", score: "" },
    { words: "same file", score: "" },
    { words: "a fourth", score: "" },
    { words: "similar in meaning", score: "0.50 × 2 = +1.00" },
  ]);
  assert.equal(drawn.tooltip, "App > add_url_rule\nsrc/flask/app.py:593-600");
});

void test("the workspace folder is named where several are open", () => {
  const drawn = draw(passage({}), { ...alone, folderName: (uri) => `named ${uri}` });
  assert.equal(drawn.folder, "named file:///w");
  assert.match(drawn.label, /^App\.add_url_rule, folder named file:\/\/\/w, src/);
});

void test("a file at the top has no directory, and one without a title is called by its name", () => {
  const drawn = draw(passage({ path: "setup.py", title: "" }));
  assert.deepEqual([drawn.title, drawn.directory], ["setup.py", ""]);
});

for (const [count, said] of [
  [0, "No passages for App.route"],
  [1, "1 passage for App.route"],
  [7, "7 passages for App.route"],
] as const) {
  void test(`announces: ${said}`, () => {
    const content = contentOfAnswer(answer(Array.from({ length: count }, () => passage({}))), alone);
    assert.equal(content.announcement, said);
  });
}

void test("says that nothing is related, what would be, and of which place", () => {
  const content = contentOfAnswer(answer([]), alone);
  assert.match(content.message, /^Nothing related was found for this place\. Callers, tests and documents/);
  assert.deepEqual(content.empty, []);
  assert.deepEqual(content.place, {
    title: "App.route",
    file: "app.py:10-12",
    directory: "src",
    where: "src/app.py:10-12",
  });
});

void test("the server's words for an empty answer come before the panel's own", () => {
  const message = "No code calls or names it, and no document is about it.";
  assert.equal(contentOfAnswer({ ...answer([]), message }, alone).message, message);
});

void test("while the index is incomplete, an empty answer says that more can appear", () => {
  assert.match(contentOfAnswer(answer([], false), alone).message, /as indexing goes on\.$/);
});

void test("the key changes with what is drawn and only then", () => {
  const one = contentOfAnswer(answer([passage({})]), alone);
  const same = contentOfAnswer({ ...answer([passage({})]), timings: { total: 3 } }, alone);
  const pinned = contentOfAnswer(answer([passage({})]), { ...alone, pinned: nowhereElse });
  const other = contentOfAnswer(answer([passage({ contentHash: "other" })]), alone);
  assert.equal(one.key, same.key);
  assert.equal(new Set([one.key, pinned.key, other.key]).size, 3);
});

for (const [given, said] of [
  [{ files: { total: 236, indexed: 120 }, chunks: 10, embedded: 5 }, "Indexed so far: 120 of 236 files."],
  [
    { files: { total: 236, indexed: 236 }, chunks: 1000, embedded: 999 },
    "Compared by meaning so far: 99 % of the passages.",
  ],
  [{ files: { total: 236, indexed: 236 }, chunks: 10, embedded: 10 }, "The index is not complete yet."],
] as const) {
  void test(`an incomplete index: ${said}`, () => {
    const around = { ...alone, status: given as unknown as StatusAnswer };
    assert.equal(contentOfAnswer(answer([], false), around).notice, said);
    assert.equal(contentOfAnswer(answer([], true), around).notice, "");
  });
}

void test("each absence says what it is and what can be done", () => {
  const actions = (absence: Parameters<typeof contentOfAbsence>[0]) =>
    contentOfAbsence(absence, undefined).actions.map(({ action }) => action);
  assert.deepEqual(actions({ why: "missing" }), ["install", "restart"]);
  assert.deepEqual(actions({ why: "stopped" }), ["restart"]);
  assert.deepEqual(actions({ why: "crashed", message: "gone" }), ["restart", "log"]);
  assert.deepEqual(actions({ why: "problem", message: "no" }), ["refresh"]);
  assert.equal(
    contentOfAbsence({ why: "problem", message: "not indexed" }, undefined).message,
    "not indexed",
  );
  assert.match(contentOfAbsence({ why: "noEditor" }, undefined).message, /^Open a file/);
});

void test("a snippet has four lines that say something, without their common indentation", () => {
  const text = "\n    def a():\n\n        pass\n    # ----\n    def b():\n        return 1\n        more\n";
  assert.deepEqual(snippetText({ snippet: text }), ["def a():", "    pass", "def b():", "    return 1"]);
});

void test("a snippet leaves out decorators, and the title where it stands there once more", () => {
  assert.deepEqual(snippetText({ snippet: "@setupmethod\n@other(1)\ndef a(): ...\n" }), ["def a(): ..."]);
  assert.deepEqual(snippetText({ type: "prose", title: "Views", snippet: "## Views\n\nA view is\n" }), [
    "A view is",
  ]);
  assert.deepEqual(snippetText({ type: "prose", title: "Views", snippet: "Views\n=====\n\nA view is\n" }), [
    "A view is",
  ]);
  assert.deepEqual(snippetText({ type: "prose", title: "Views", snippet: "# Views\n" }), ["# Views"]);
});

void test("a snippet leads to the word through which the passage is related", () => {
  const lines = ["def a():", "  one", "  two", "  three", "  four", "  call_it()", "  six", "  seven"];
  const drawn = snippet({ ...result({ snippet: lines.join("\n"), matchedTerms: ["call_it"] }) });
  assert.deepEqual(
    drawn.map(({ pieces, afterGap }) => [pieces.map(({ text }) => text).join(""), afterGap]),
    [
      ["def a():", false],
      ["  one", false],
      ["  call_it()", true],
      ["  six", false],
    ],
  );
  assert.deepEqual(
    drawn[2]?.pieces.filter(({ marked }) => marked).map(({ text }) => text),
    ["call_it"],
  );
});

void test("a snippet leads to the line to go to, whichever words stand elsewhere", () => {
  const text = ["import call_it", "", "def a():", "  one", "  two", "  three", "  call_it()", "  seven"];
  const shown = { snippet: text.join("\n"), matchedTerms: ["call_it"], range: lines(592, 600) };
  assert.deepEqual(snippetText({ ...shown, selectionRange: lines(598, 599) }), [
    "import call_it",
    "def a():",
    "  call_it()",
    "  seven",
  ]);
});

void test("words are marked whole, and never taken for patterns", () => {
  const marked = (text: string, ...matchedTerms: string[]) =>
    snippet(result({ snippet: text, matchedTerms })).flatMap(({ pieces }) =>
      pieces.filter((piece) => piece.marked).map((piece) => piece.text),
    );
  assert.deepEqual(marked("run runner re_run run()", "run"), ["run", "run"]);
  assert.deepEqual(marked("a.b axb", "a.b"), ["a.b"]);
  assert.deepEqual(marked("c++ (x", "c++", "(x"), ["c++", "(x"]);
  assert.deepEqual(marked("größe und größer", "größe"), ["größe"]);
});

void test("endless lines end", () => {
  const [line] = snippetText({ snippet: "x".repeat(100_000) });
  assert.equal(line?.length, 200);
});

void test("a copied passage has its citation, and a fence that nothing in it ends", () => {
  assert.equal(
    quoted(result({ snippet: "def a():\n    pass\n\n" })),
    "src/flask/app.py#L593-L600\n\n```python\ndef a():\n    pass\n```\n",
  );
  const fenced = quoted(result({ language: "markdown", snippet: "````\ncode\n````" }));
  assert.match(fenced, /\n`````markdown\n````\ncode\n````\n`````\n$/);
  const line = { start: { line: 4, character: 0 }, end: { line: 5, character: 0 } };
  assert.match(quoted(result({ range: line })), /^src\/flask\/app\.py#L5\n/);
});

function draw(given: ContextPassage, around = alone): PassageContent {
  const [drawn] = contentOfAnswer(answer([given]), around).sections.flatMap(({ passages }) => passages);
  assert.ok(drawn);
  return drawn;
}

function snippetText(given: Partial<SearchResult>): string[] {
  return snippet(result(given)).map(({ pieces }) => pieces.map(({ text }) => text).join(""));
}

function answer(passages: ContextPassage[], complete = true): ContextAnswer {
  return {
    passages,
    context: "## Context",
    parts: [],
    dropped: [],
    tokens: 10,
    budget: 100,
    place: {
      path: "src/app.py",
      uri: "file:///w/src/app.py",
      range: { start: { line: 9, character: 0 }, end: { line: 12, character: 0 } },
      title: "App.route",
      headerPath: "App > route",
      symbol: "route",
    },
    index: { generation: 1, complete, remaining: [], note: "", revisions: [], source: "" },
    timings: {},
    message: "",
    retrieval: answeredIn,
  };
}

function passage(
  given: Partial<SearchResult>,
  section: ContextSection = "similar",
  reasons = ["similar in meaning"],
): ContextPassage {
  return { group: "code", section, reasons, result: result(given) };
}

function result(given: Partial<SearchResult>): SearchResult {
  const explained = { matchedTerms: [], matchExplain: ["similar in meaning: 0.50 × 2 = +1.00"] };
  return anyResult({ selectionRange: lines(593, 594), ...explained, ...given });
}
