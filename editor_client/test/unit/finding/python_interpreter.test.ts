import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { findInterpreter, NoPythonError } from "../../../src/finding/python_interpreter.ts";
import { machine, program, temporaryFolder } from "./fixtures.ts";

/** Answers as `version` of Python does to what it is asked. */
function python(path: string, version: number[], lacks: string[] = []): Promise<string> {
  return program(path, `echo '${JSON.stringify({ version, base: `${path}-base`, lacks })}'`);
}

void test("this machine's Python answers the question", { timeout: 60_000 }, async () => {
  const found = await findInterpreter([], machine({ env: process.env }));
  assert.match(found.version, /^3\.\d+\.\d+$/);
  assert.match(found.base, /^\/.*python/);
});

void test("the newest by name, of those that are new enough and complete", async (t) => {
  const root = await temporaryFolder(t);
  const bin = join(root, "bin");
  await program(join(bin, "python3.14"), "exit 127"); // a version manager's name for what is not installed
  await python(join(bin, "python3.13"), [3, 13, 0], ["ensurepip"]);
  const good = await python(join(bin, "python3.12"), [3, 12, 4]);
  await python(join(bin, "python3"), [3, 11, 1]);
  const found = await findInterpreter([], machine({ env: { PATH: bin } }));
  assert.deepEqual(found, { command: good, args: [], version: "3.12.4", base: `${good}-base` });
});

void test("the one chosen in the editor first, unless it lies in an untrusted workspace", async (t) => {
  const root = await temporaryFolder(t);
  const chosen = await python(join(root, "workspace", ".venv", "bin", "python"), [3, 11, 0]);
  const other = await python(join(root, "bin", "python3.14"), [3, 14, 0]);
  const env = { PATH: join(root, "bin") };
  assert.equal((await findInterpreter([chosen], machine({ env }))).command, chosen);
  const untrusted = machine({ env, trusted: false, folders: [join(root, "workspace")] });
  assert.equal((await findInterpreter([chosen], untrusted)).command, other);
});

void test("none: what was found, why it will not do, and what to install", async (t) => {
  const bin = await temporaryFolder(t);
  await python(join(bin, "python3"), [3, 9, 2]);
  await python(join(bin, "python3.12"), [3, 12, 4], ["venv", "ensurepip"]);
  const missing = findInterpreter([], machine({ platform: "linux", env: { PATH: bin } }));
  await assert.rejects(missing, (problem) => {
    assert.ok(problem instanceof NoPythonError);
    assert.match(problem.message, /needs Python 3\.11 or later/);
    assert.match(problem.message, /python3 is Python 3\.9\.2/);
    assert.match(problem.message, /python3\.12 \(Python 3\.12\.4\) lacks venv and ensurepip/);
    assert.match(problem.message, /sudo apt install python3 python3-venv.*python\.org\/downloads/);
    return true;
  });
  await assert.rejects(findInterpreter([], machine({ platform: "darwin" })), /Install it from python\.org/);
});

void test("cancelling ends the search", async (t) => {
  const bin = await temporaryFolder(t);
  await program(join(bin, "python3"), "sleep 300");
  const aborting = new AbortController();
  const searching = findInterpreter([], machine({ env: { PATH: `${bin}:/bin` } }), aborting.signal);
  aborting.abort(new Error("enough"));
  await assert.rejects(searching, { message: "enough" });
});
