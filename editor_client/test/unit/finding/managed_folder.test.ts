import assert from "node:assert/strict";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import {
  completeServer,
  markComplete,
  otherEnvironments,
  readBundle,
  removeEnvironment,
} from "../../../src/finding/managed_folder.ts";
import { cairn, program, temporaryFolder } from "./fixtures.ts";

void test("an environment is used if it is marked as complete and its Python exists", async (t) => {
  const root = await temporaryFolder(t);
  const folder = join(root, "environment");
  assert.equal(await completeServer(folder, "linux"), undefined);
  const base = await program(join(root, "base"), "");
  const command = await cairn(join(folder, "bin", "cairn"));
  await program(join(folder, "bin", "python"), "");
  assert.equal(await completeServer(folder, "linux"), undefined);
  await markComplete(folder, base);
  assert.equal(await completeServer(folder, "linux"), command);
  await rm(base);
  assert.equal(await completeServer(folder, "linux"), undefined);
  await removeEnvironment(folder);
  await removeEnvironment(folder); // removing nothing is not an error
  assert.deepEqual(await readdir(root), []);
});

void test("the folder's name follows what is installed", async (t) => {
  const extension = await temporaryFolder(t);
  assert.equal(await readBundle(extension, "1.2.3"), undefined);
  const server = join(extension, "server");
  await mkdir(server);
  await writeFile(join(server, "cairn_ls-0.1.0-py3-none-any.whl"), "wheel");
  assert.equal(await readBundle(extension, "1.2.3"), undefined, "the requirements are missing");
  await writeFile(join(server, "requirements.txt"), "one");
  const bundle = await readBundle(extension, "1.2.3");
  assert.match(bundle?.name ?? "", /^1\.2\.3-[0-9a-f]{12}$/);
  assert.equal((await readBundle(extension, "1.2.3"))?.name, bundle?.name);
  await writeFile(join(server, "requirements.txt"), "another");
  assert.notEqual((await readBundle(extension, "1.2.3"))?.name, bundle?.name);
  await writeFile(join(server, "cairn_ls-0.2.0-py3-none-any.whl"), "wheel");
  assert.equal(await readBundle(extension, "1.2.3"), undefined, "there are two wheels");
});

void test("other versions' environments, but for those being installed", async (t) => {
  const root = await temporaryFolder(t);
  for (const name of ["current", "old", "busy"]) await mkdir(join(root, name));
  for (const name of ["current.lock", "busy.lock"]) await writeFile(join(root, name), "");
  assert.deepEqual(await otherEnvironments(root, "current"), [join(root, "old")]);
  assert.deepEqual(await otherEnvironments(join(root, "missing"), "current"), []);
});
