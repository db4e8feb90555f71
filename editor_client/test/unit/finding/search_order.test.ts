import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { FindingError } from "../../../src/finding/found_server.ts";
import { commandIn, findInOrder, type Places } from "../../../src/finding/search_order.ts";
import { cairn, machine, program, temporaryFolder } from "./fixtures.ts";

function places(changes: Partial<Places> = {}): Places {
  return {
    setting: "",
    pythonPrefixes: () => Promise.resolve([]),
    managed: () => Promise.resolve(undefined),
    ...changes,
  };
}

void test("the setting, then Python's environment, then the PATH, then the managed one", async (t) => {
  const root = await temporaryFolder(t);
  const setting = await program(join(root, "setting"), "exit 1"); // what the user names is not asked
  const inPython = await cairn(join(root, "venv", "bin", "cairn"), "0.2");
  const inPath = await cairn(join(root, "bin", "cairn"), "0.3");
  const managed = join(root, "managed");
  const here = machine({ env: { PATH: join(root, "bin") } });
  const all = places({
    pythonPrefixes: () => Promise.resolve([join(root, "empty"), join(root, "venv")]),
    managed: () => Promise.resolve(managed),
  });

  const named = { ...all, setting };
  assert.deepEqual(await findInOrder(named, here), { command: setting, from: "setting" });
  const chosen = { command: inPython, from: "python", version: "0.2" };
  assert.deepEqual(await findInOrder(all, here), chosen);
  await rm(inPython);
  assert.deepEqual(await findInOrder(all, here), { command: inPath, from: "path", version: "0.3" });
  await rm(inPath);
  assert.deepEqual(await findInOrder(all, here), { command: managed, from: "managed" });
  assert.equal(await findInOrder(places(), here), undefined);
});

void test("a wrong setting is an error, and not a reason to start another server", async (t) => {
  const root = await temporaryFolder(t);
  await cairn(join(root, "bin", "cairn"));
  const here = machine({ env: { PATH: join(root, "bin") } });
  await assert.rejects(findInOrder(places({ setting: join(root, "none") }), here), FindingError);
});

void test("another program called cairn is passed over for the next one", async (t) => {
  const root = await temporaryFolder(t);
  await program(join(root, "a", "cairn"), "echo 'cairn 1.4.2'");
  const ours = await cairn(join(root, "b", "cairn"));
  const here = machine({ env: { PATH: `${join(root, "a")}:${join(root, "b")}` } });
  assert.equal((await findInOrder(places(), here))?.command, ours);
  assert.equal(here.logged.length, 1);
});

void test("nothing in an untrusted workspace is started", async (t) => {
  const root = await temporaryFolder(t);
  const mark = join(root, "started");
  const workspace = join(root, "workspace");
  await program(
    join(workspace, ".venv", "bin", "cairn"),
    `touch "${mark}"; echo "cairn, version 0.1.0 (cairn-ls)"`,
  );
  const prefixes = { pythonPrefixes: () => Promise.resolve([join(workspace, ".venv")]) };
  const env = { PATH: `${join(workspace, ".venv", "bin")}:/usr/bin:/bin` };
  const untrusted = machine({ env, trusted: false, folders: [workspace] });

  assert.notEqual((await findInOrder(places(prefixes), untrusted))?.from, "python");
  await assert.rejects(rm(mark), { code: "ENOENT" });
  const trusted = machine({ env, folders: [workspace] });
  assert.equal((await findInOrder(places(prefixes), trusted))?.from, "python");
  await rm(mark); // the same command, once it may be
});

void test("where an environment keeps its programs", () => {
  assert.equal(commandIn("/home/me/.venv", "linux"), "/home/me/.venv/bin/cairn");
  assert.equal(commandIn("C:\\env", "win32"), "C:\\env\\Scripts\\cairn.exe");
  assert.equal(commandIn("C:\\env", "win32", "python"), "C:\\env\\Scripts\\python.exe");
});
