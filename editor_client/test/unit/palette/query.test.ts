import assert from "node:assert/strict";
import { test } from "node:test";

import { inFolder, parseQuery, withQuery } from "../../../src/palette/query.ts";

const CASES: [typed: string, query: string, filter: object][] = [
  ["how does routing work", "how does routing work", {}],
  ["type:code lang:go path:src parse", "parse", { type: ["code"], language: ["go"], path: ["src"] }],
  ["parse type:code,api", "parse", { type: ["code", "api"] }],
  ["parse type:code type:api", "parse", { type: ["code", "api"] }],
  ["Type:CODE Lang:TS parse", "parse", { type: ["code"], language: ["TS"] }],
  ['path:"my docs/" parse', "parse", { path: ["my docs/"] }],
  ["in:flask-docs collection:flask-source url", "url", { collection: ["flask-docs", "flask-source"] }],
  ['"type:code" in a sentence', '"type:code" in a sentence', {}],
  ["what is type: code", "what is type: code", {}],
  ["http://localhost:80 std::path", "http://localhost:80 std::path", {}],
  ["  two   words ", "two words", {}],
  ["type:code", "", { type: ["code"] }],
  ['an open "quote here', 'an open "quote here', {}],
  ["", "", {}],
];

for (const [typed, query, filter] of CASES) {
  void test(`“${typed}” asks for “${query}”`, () => {
    assert.deepEqual(parseQuery(typed), { query, filter });
  });
}

void test("a folder's filter finds only what is in it, also with spaces in its name", () => {
  assert.deepEqual(parseQuery(`${inFolder("src/flask")}app`), {
    query: "app",
    filter: { path: ["/src/flask/"] },
  });
  assert.deepEqual(parseQuery(`${inFolder("my docs")}app`), {
    query: "app",
    filter: { path: ["/my docs/"] },
  });
});

void test("another query keeps the typed filters", () => {
  assert.equal(
    withQuery('kill type:code a process path:"my docs/"', "kill"),
    'type:code path:"my docs/" kill',
  );
  assert.equal(withQuery("kill a process", "kill"), "kill");
});
