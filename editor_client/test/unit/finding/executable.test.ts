import assert from "node:assert/strict";
import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { fileNames, isWholePath, kindOf, onPath, pathFolders } from "../../../src/finding/executable.ts";
import { machine, program, temporaryFolder } from "./fixtures.ts";

void test("only an executable file can be started", async (t) => {
  const root = await temporaryFolder(t);
  const executable = await program(join(root, "cairn"), "");
  await writeFile(join(root, "text"), "");
  await chmod(join(root, "text"), 0o644);
  await symlink(executable, join(root, "link"));
  await symlink(join(root, "nowhere"), join(root, "dangling"));

  assert.equal(await kindOf(executable, "linux"), "executable");
  assert.equal(await kindOf(join(root, "link"), "linux"), "executable");
  assert.equal(await kindOf(join(root, "dangling"), "linux"), "missing");
  assert.equal(await kindOf(join(root, "nowhere"), "linux"), "missing");
  assert.equal(await kindOf(root, "linux"), "folder");
  assert.equal(await kindOf(join(root, "text"), "linux"), "not executable");
});

void test("on Windows the extension decides, and batch files are recognised", async (t) => {
  const root = await temporaryFolder(t);
  for (const name of ["cairn.EXE", "cairn.cmd", "cairn"]) await writeFile(join(root, name), "");
  assert.equal(await kindOf(join(root, "cairn.EXE"), "win32"), "executable");
  assert.equal(await kindOf(join(root, "cairn.cmd"), "win32"), "batch file");
  assert.equal(await kindOf(join(root, "cairn"), "win32"), "not executable");
});

void test("empty and relative entries of the PATH are left out", () => {
  const env = { PATH: "/usr/bin::.:bin:~/bin:/opt/my tools" };
  assert.deepEqual(pathFolders({ platform: "linux", env }), ["/usr/bin", "/opt/my tools"]);
  assert.deepEqual(pathFolders({ platform: "linux", env: {} }), []);
});

void test("on Windows the PATH is found in any case, and its entries have a drive or a server", () => {
  const Path = 'C:\\Python;"C:\\Program Files\\x";\\tools;C:tools;.;tools;;\\\\server\\share';
  assert.deepEqual(pathFolders({ platform: "win32", env: { Path } }), [
    "C:\\Python",
    "C:\\Program Files\\x",
    "\\\\server\\share",
  ]);
});

void test("on Windows programs are looked for, and never batch files", () => {
  const names = (PATHEXT?: string) =>
    fileNames("cairn", { platform: "win32", env: PATHEXT === undefined ? {} : { PathExt: PATHEXT } });
  assert.deepEqual(names(".COM;.EXE;.BAT;.CMD;.PY"), ["cairn.exe", "cairn.com"]);
  assert.deepEqual(names(".CMD;.BAT"), ["cairn.exe"]);
  assert.deepEqual(names(), ["cairn.exe"]);
  assert.deepEqual(fileNames("cairn", { platform: "linux", env: {} }), ["cairn"]);
});

void test("whole paths", () => {
  const whole: [string, NodeJS.Platform][] = [
    ["/usr/bin/cairn", "linux"],
    ["C:\\cairn.exe", "win32"],
    ["C:/cairn.exe", "win32"],
    ["\\\\server\\share\\cairn.exe", "win32"],
  ];
  const parts: [string, NodeJS.Platform][] = [
    ["cairn", "linux"],
    ["./cairn", "linux"],
    ["C:\\cairn.exe", "linux"],
    ["\\cairn.exe", "win32"],
    ["C:cairn.exe", "win32"],
  ];
  for (const [path, platform] of whole) assert.equal(isWholePath(path, platform), true, path);
  for (const [path, platform] of parts) assert.equal(isWholePath(path, platform), false, path);
});

void test("finds all of a name on the PATH in order, without those of an untrusted workspace", async (t) => {
  const root = await temporaryFolder(t);
  const first = await program(join(root, "first", "cairn"), "");
  const inside = await program(join(root, "workspace", "bin", "cairn"), "");
  const last = await program(join(root, "last", "cairn"), "");
  await mkdir(join(root, "a folder", "cairn"), { recursive: true });
  const folders = ["first", "a folder", "missing", join("workspace", "bin"), "last", "first"];
  const env = { PATH: folders.map((name) => join(root, name)).join(":") };

  assert.deepEqual(await onPath("cairn", machine({ env })), [first, inside, last]);
  const untrusted = machine({ env, trusted: false, folders: [join(root, "workspace")] });
  assert.deepEqual(await onPath("cairn", untrusted), [first, last]);
  assert.equal(untrusted.logged.length, 1);
  assert.match(untrusted.logged[0] ?? "", /workspace.bin.cairn is not used.*not trusted/);
});
