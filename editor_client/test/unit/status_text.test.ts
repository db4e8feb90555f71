import assert from "node:assert/strict";
import { test } from "node:test";

import type { StatusAnswer } from "../../src/protocol.ts";
import { describe, type Health, lines } from "../../src/status_text.ts";

function status(given: Partial<StatusAnswer> = {}): StatusAnswer {
  return {
    state: "ready",
    searchable: true,
    generation: 1,
    phase: 3,
    files: { total: 1200, indexed: 1200 },
    chunks: 9876,
    embedded: 9876,
    queued: 0,
    model: { name: "my-model", dimension: 384, id: "x", packaged: false },
    collections: [],
    lastError: null,
    latency: { p50: 12.4, p95: 30.6, cacheHits: 0, cacheMisses: 1 },
    memory: 250_000_000,
    warnings: [],
    skipped: {},
    activity: "idle",
    staticEmbedded: 9876,
    paused: false,
    textsPerSecond: 0,
    secondsLeft: null,
    retrieval: null,
    remaining: [],
    namedAsText: { count: 0, examples: [] },
    ...given,
  };
}

const running = (given: Partial<StatusAnswer> = {}): Health => ({ state: "running", status: status(given) });

void test("a healthy server tells files, chunks and model", () => {
  const { text, detail, busy, severity } = describe(running());
  assert.equal(text, "Cairn: ready");
  assert.equal(detail, "1,200 files, 9,876 chunks, my-model");
  assert.deepEqual([busy, severity], [false, "information"]);
});

void test("indexing tells how far it is: files first, then vectors", () => {
  const reading = running({ state: "indexing", files: { total: 10, indexed: 4 } });
  assert.equal(describe(reading).text, "Cairn: indexing 4 of 10 files");
  const embedding = describe(running({ state: "indexing", embedded: 4938 }));
  assert.equal(embedding.text, "Cairn: indexing 50 %");
  const counting = describe(running({ state: "indexing", remaining: ["history", "imports"] }));
  assert.equal(counting.text, "Cairn: counting history and imports");
  assert.equal(embedding.busy, true);
});

void test("paused is neither busy nor ready", () => {
  const { text, busy } = describe(running({ state: "indexing", paused: true }));
  assert.deepEqual([text, busy], ["Cairn: paused", false]);
});

void test("where no model can be used it says that only keywords count", () => {
  const none = running({ state: "degraded", model: null, phase: 2 });
  assert.match(describe(none).detail, /keywords only/);
  assert.match(modelLine(none), /keywords only/);
});

void test("the code model is shown as what comes with Cairn", () => {
  const packaged = running({ model: { name: "cairn-code", dimension: 256, id: "y", packaged: true } });
  const { detail, severity } = describe(packaged);
  assert.deepEqual([detail, severity], ["1,200 files, 9,876 chunks, cairn-code", "information"]);
  assert.match(modelLine(packaged), /^cairn-code, comes with Cairn$/);
  assert.equal(modelLine(running()), "my-model");
});

function modelLine(health: Health): string {
  return lines(health, undefined).find(({ label }) => label === "Model")?.value ?? "";
}

void test("a problem is an error, a wrong setting a warning, and both are shown in full", () => {
  const problem = describe(running({ state: "degraded", lastError: "The disk is full." }));
  assert.deepEqual([problem.severity, problem.detail], ["error", "The disk is full."]);
  const warned = describe(running({ warnings: ["index.exlude: unknown setting"] }));
  assert.deepEqual([warned.severity, warned.detail], ["warning", "index.exlude: unknown setting"]);
  assert.ok(lines(running({ warnings: ["w"] }), undefined).some(({ value }) => value === "w"));
});

void test("no server is an error that says so", () => {
  assert.equal(describe({ state: "missing" }).severity, "error");
  assert.equal(describe({ state: "crashed", message: "It crashed." }).detail, "It crashed.");
});

void test("the list has the figures that the server gives", () => {
  const shown = lines(running(), { command: "/opt/cairn", from: "path" }).map(
    (l) => `${l.label}: ${l.value}`,
  );
  for (const line of [
    "Files: 1,200 of 1,200",
    "Chunks: 9,876, 9,876 with vectors",
    "Searches: 12 ms, 95 of 100 within 31 ms",
    "Memory: 250 MB",
    "Server: /opt/cairn",
  ]) {
    assert.ok(shown.includes(line), `${line} in ${shown.join(" | ")}`);
  }
});
