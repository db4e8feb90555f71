import assert from "node:assert/strict";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { isInside, isInUntrustedFolder } from "../../../src/finding/trust.ts";
import { machine, program, temporaryFolder } from "./fixtures.ts";

const insides: [NodeJS.Platform, string, string, boolean][] = [
  ["linux", "/srv/app", "/srv/app", true],
  ["linux", "/srv/app/.venv/bin/cairn", "/srv/app", true],
  ["linux", "/srv/app/.venv/bin/cairn", "/srv/app/", true],
  ["linux", "/srv/app2/cairn", "/srv/app", false],
  ["linux", "/srv/cairn", "/srv/app", false],
  ["linux", "/srv/app/..cairn", "/srv/app", true],
  ["linux", "/srv/APP/cairn", "/srv/app", false],
  ["linux", "/srv/app/../cairn", "/srv/app", false],
  ["linux", "/anything", "/", true],
  ["darwin", "/Users/me/App/cairn", "/users/me/app", true],
  ["win32", "C:\\Work\\App\\cairn.exe", "c:\\work\\app", true],
  ["win32", "C:/work/app/cairn.exe", "c:\\work\\app", true],
  ["win32", "D:\\work\\app\\cairn.exe", "C:\\work\\app", false],
  ["win32", "\\\\server\\share\\cairn.exe", "C:\\work", false],
];

for (const [platform, path, folder, expected] of insides) {
  void test(`${path} is ${expected ? "" : "not "}inside ${folder} on ${platform}`, () => {
    assert.equal(isInside(path, folder, platform), expected);
  });
}

void test("links into and out of an untrusted folder count as lying in it", async (t) => {
  const root = await temporaryFolder(t);
  const [workspace, elsewhere] = [join(root, "workspace"), join(root, "elsewhere")];
  const inside = await program(join(workspace, "cairn"), "");
  const outside = await program(join(elsewhere, "cairn"), "");
  await symlink(inside, join(elsewhere, "into"));
  await symlink(outside, join(workspace, "out"));
  await symlink(workspace, join(root, "another name"));

  const untrusted = machine({ trusted: false, folders: [workspace] });
  assert.equal(await isInUntrustedFolder(inside, untrusted), true);
  assert.equal(await isInUntrustedFolder(join(elsewhere, "into"), untrusted), true);
  assert.equal(await isInUntrustedFolder(join(workspace, "out"), untrusted), true);
  assert.equal(await isInUntrustedFolder(outside, untrusted), false);
  const opened = machine({ trusted: false, folders: [join(root, "another name")] });
  assert.equal(await isInUntrustedFolder(inside, opened), true);
  assert.equal(await isInUntrustedFolder(inside, machine({ folders: [workspace] })), false, "it is trusted");
});

void test("a folder that is not there is judged by its name", async (t) => {
  const root = await temporaryFolder(t);
  await mkdir(join(root, "workspace"));
  const untrusted = machine({ trusted: false, folders: [join(root, "workspace")] });
  assert.equal(await isInUntrustedFolder(join(root, "workspace", "bin", "cairn"), untrusted), true);
});
