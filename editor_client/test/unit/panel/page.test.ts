import assert from "node:assert/strict";
import { test } from "node:test";

import { page } from "../../../src/panel/page.ts";

const html = page({
  cspSource: "'self' https://*.example",
  script: 'https://host/dist/panel.js?a=1&b="2"',
  style: "https://host/dist/panel.css",
  nonce: "n0nce",
});

void test("allows one script by its nonce, styles of the editor's host, and nothing else", () => {
  assert.ok(
    html.includes(
      `content="default-src 'none'; style-src 'self' https://*.example; script-src 'nonce-n0nce'"`,
    ),
  );
  assert.doesNotMatch(html, /unsafe|<style|\sstyle=|\son\w+=/);
  assert.deepEqual(
    Array.from(html.matchAll(/<script([^>]*)>([^<]*)</g), (found) => found.slice(1)),
    [[` nonce="n0nce" src="https://host/dist/panel.js?a=1&amp;b=&quot;2&quot;"`, ""]],
  );
});
