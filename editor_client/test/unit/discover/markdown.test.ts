import assert from "node:assert/strict";
import { test } from "node:test";

import { code, discoveryAsMarkdown as asMarkdown, escape } from "../../../src/discover/markdown.ts";
import type { DiscoverAnswer } from "../../../src/protocol.ts";
import { bullet, discoverAnswer, excerpt, lines, namedPlace, result, verdict } from "../results.ts";

const shown = (question: string, answer: DiscoverAnswer, root = "file:///w", folder?: string) =>
  asMarkdown(question, answer, root, () => folder);

void test("evidence stands in its section, with a link to its lines", () => {
  const text = shown("how does routing work", discoverAnswer([bullet()]));
  assert.match(text, /^# how does routing work$/m);
  assert.match(text, /^## Definition$/m);
  assert.match(
    text,
    /^- Flask uses the Werkzeug routing system\\\.\s+\[.*\]\(<\/docs\/design\.rst#L83-L84,9999>\)$/m,
  );
  assert.match(
    text,
    /^1 piece of evidence from 1 file\. Press `c` to copy the prompt of 120 tokens, `p` to /m,
  );
});

void test("an excerpt is code in its language, below its file, a link to its lines and a reason", () => {
  const text = shown("q", discoverAnswer([], { excerpts: [excerpt()] }));
  const expected = [
    "### [src\\/flask\\/app\\.py](</src/flask/app.py>)",
    "",
    "[L478\\-L479](</src/flask/app.py#L478-L479,9999>) · **Flask\\.raise\\_routing\\_exception** · " +
      "*has routing\\, exception*",
    "",
    "```python",
    "def raise_routing_exception(self, request):",
    "    raise request.routing_exception",
    "```",
  ];
  assert.ok(text.includes(expected.join("\n")), text);
  assert.match(text, /^1 excerpt from 1 file\./m);
});

void test("a file of one folder of several names it", () => {
  const text = shown("q", discoverAnswer([], { excerpts: [excerpt()] }), "file:///w", "tide*s");
  assert.match(text, /^### \[.*\]\(<\/src\/flask\/app\.py>\) · tide\\\*s$/m);
});

void test("a file has one heading above its excerpts", () => {
  const other = { path: "b.py", uri: "file:///w/b.py" };
  const excerpts = [excerpt(), excerpt({ range: lines(8, 9), symbol: "" }), excerpt(other)];
  const text = shown("q", discoverAnswer([], { excerpts }));
  assert.deepEqual(
    text.match(/^(?:### )?\[[^\]]+\]/gm)?.map((each) => each.replaceAll("\\", "")),
    ["### [src/flask/app.py]", "[L478-L479]", "[L9]", "### [b.py]", "[L478-L479]"],
  );
});

void test("an excerpt is called after its own definition, or after its headings", () => {
  const name = (given: Parameters<typeof excerpt>[0]) =>
    /\*\*(.*)\*\*/.exec(shown("q", discoverAnswer([], { excerpts: [excerpt(given)] })))?.[1];
  assert.equal(name({ symbol: "leave", headerPath: "Berth > leave" }), "Berth\\.leave");
  assert.equal(name({ symbol: "", headerPath: "Guide > Tides" }), "Guide \\> Tides");
});

void test("excerpts come in their order, and sections before them only where the prompt has those", () => {
  const excerpts = [excerpt(), excerpt({ path: "a.py", uri: "file:///w/a.py" })];
  const text = shown("q", discoverAnswer([bullet()], { excerpts }));
  assert.ok(text.indexOf("[src\\/flask\\/app\\.py]") < text.indexOf("[a\\.py]"));
  assert.doesNotMatch(text, /## Definition|## Excerpts/);
  const overview = shown(
    "q",
    discoverAnswer([bullet()], { excerpts, answerPrompt: "# Context\n### Definition\n" }),
  );
  assert.ok(overview.indexOf("## Definition") < overview.indexOf("## Excerpts"));
  assert.ok(overview.indexOf("## Excerpts") < overview.indexOf("```python"));
});

void test("further places are links to their lines below their file, after the excerpts", () => {
  const other = {
    path: "b.py",
    uri: "file:///w/b.py",
    range: lines(3, 4),
    title: "toll",
    about: ": A *fee*.",
  };
  const elsewhere = [namedPlace({ relation: "called by `run`" }), namedPlace(other)];
  const text = shown("q", discoverAnswer([], { excerpts: [excerpt()], elsewhere, chunks: [result()] }));
  const expected = [
    "## More on request",
    "",
    "### [src\\/flask\\/app\\.py](</src/flask/app.py>)",
    "",
    "- [L593\\-L600](</src/flask/app.py#L593-L600,9999>) App\\.add\\_url\\_rule\\(self\\, rule\\)" +
      " · *called by \\`run\\`*",
    "",
    "### [b\\.py](</b.py>)",
    "",
    "- [L4](</b.py#L4-L4,9999>) toll\\: A \\*fee\\*\\.",
    "",
  ];
  assert.ok(text.endsWith("```\n\n" + expected.join("\n")), text);
  assert.doesNotMatch(text, /## Nearest places/);
});

void test("where nothing matches, places in files without excerpts follow, and none are named", () => {
  const none = verdict({ action: "noMatch", message: "Which part should I explain?" });
  const chunks = [
    result({ path: "src/flask/app.py", uri: "file:///w/src/flask/app.py" }),
    result({ path: "b.py", uri: "file:///w/b.py" }),
  ];
  const given = { verdict: none, excerpts: [excerpt()], chunks, elsewhere: [namedPlace()] };
  const text = shown("q", discoverAnswer([], given));
  assert.deepEqual(text.match(/^\d+\. .*$/gm), [
    "1. [b\\.py\\:595](</b.py#L593-L600,9999>) App \\> add\\_url\\_rule",
  ]);
  assert.doesNotMatch(text, /More on request/);
});

void test("a piece of code looks like code", () => {
  const head = bullet({ text: "def route(self, *a: int)", uri: "file:///w/a.py", range: lines(4, 5) });
  const chunks = [result({ uri: "file:///w/a.py", range: lines(0, 10), type: "code" })];
  assert.match(shown("q", discoverAnswer([head], { chunks })), /^- `def route\(self, \*a: int\)`/m);
});

void test("what is quoted is text: no headings, links, images or HTML", () => {
  const hostile = "# x ![i](http://h/p.png) <img src=x> [l](command:x) **b** `c` $m$ & https://h | ~s~";
  const escaped = escape(hostile);
  const unescaped = escaped.replace(/\\./g, "").replace(/&(?:amp|lt);/g, "");
  assert.doesNotMatch(unescaped, /[!-/:-@[-`{-~]/);
  assert.equal(escaped.replaceAll("&lt;", "<").replaceAll("&amp;", "&").replace(/\\(.)/g, "$1"), hostile);
});

void test("a span of code ends where it should, whatever is in it", () => {
  assert.equal(code("a"), "`a`");
  assert.equal(code("a `` b"), "```a `` b```");
  assert.equal(code("`a`"), "`` `a` ``");
});

void test("an excerpt with fences stays in its own fence, whatever its language is called", () => {
  const hostile = excerpt({ text: "````py\nx\n````", language: "mark`down\n# x" });
  const text = shown("q", discoverAnswer([], { excerpts: [hostile] }));
  assert.match(text, /^`{5}markdown#x\n`{4}py\nx\n`{4}\n`{5}$/m);
});

void test("a question back is shown with what it offers, before anything else", () => {
  const candidates = [{ title: "Request", category: "src", path: "src/wrappers.py" }];
  const asked = verdict({ action: "clarify", message: "Do you mean Request?", candidates });
  const text = shown("q", discoverAnswer([bullet()], { verdict: asked }));
  assert.ok(text.indexOf("Do you mean Request") < text.indexOf("## Definition"));
  assert.match(text, /^> - \*\*Request\*\* `src\/wrappers\.py`$/m);
});

void test("where nothing matches, that is said before what is nearest, if there is something", () => {
  const none = verdict({ action: "noMatch", message: "Which part should I explain?" });
  const nearest = shown("q", discoverAnswer([], { verdict: none, excerpts: [excerpt({})] }));
  assert.match(
    nearest,
    /^> \*\*Nothing here clearly matches\.\*\* What follows is only the nearest\. Which part/m,
  );
  const nothing = shown("q", discoverAnswer([], { verdict: none, excerpts: [] }));
  assert.doesNotMatch(nothing, /nearest/);
  const places = shown(
    "q",
    discoverAnswer([], { verdict: none, chunks: Array.from({ length: 9 }, () => result()) }),
  );
  assert.match(places, /^## Nearest places$/m);
  assert.equal(places.match(/^\d\. /gm)?.length, 5);
});

void test("that the evidence is weak is said before it", () => {
  const weak = verdict({
    action: "answer",
    message: "The evidence is weak: it may be about something else.",
  });
  const text = shown("q", discoverAnswer([bullet()], { verdict: weak }));
  assert.ok(text.indexOf("The evidence is weak") < text.indexOf("## Definition"));
});

void test("no evidence, an incomplete index: both are said", () => {
  const text = shown(
    "q",
    discoverAnswer([], {
      index: { generation: 1, complete: false, remaining: [], note: "", revisions: [], source: "" },
    }),
  );
  assert.match(text, /No evidence was found\./);
  assert.match(text, /not complete yet/);
});

void test("the commit of a team's index is said", () => {
  const source = "From the team's index: gson, main at 1a2b3c4d.";
  const index = { generation: 1, complete: true, remaining: [], note: "", revisions: [], source };
  assert.match(shown("q", discoverAnswer([bullet()], { index })), /main at 1a2b3c4d/);
});

void test("links lead from the first workspace folder to any other", () => {
  const elsewhere = bullet({ uri: "file:///home/my%20work/a.md", range: lines(2, 3) });
  assert.match(
    shown("q", discoverAnswer([elsewhere]), "file:///home/w/"),
    /\(<\/\.\.\/my%20work\/a\.md#L3-L3,9999>\)/,
  );
});
