import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { FindingError } from "../../../src/finding/found_server.ts";
import { commandOfSetting } from "../../../src/finding/path_setting.ts";
import type { Surroundings } from "../../../src/finding/surroundings.ts";
import { machine, program, temporaryFolder } from "./fixtures.ts";

async function refusal(value: unknown, surroundings: Surroundings): Promise<string> {
  let message = "";
  await assert.rejects(commandOfSetting(value, surroundings), (problem) => {
    assert.ok(problem instanceof FindingError);
    ({ message } = problem);
    return true;
  });
  return message;
}

void test("nothing set is nothing named", async () => {
  for (const value of [undefined, null, "", "  "]) {
    assert.equal(await commandOfSetting(value, machine()), undefined);
  }
});

void test("an absolute path, and one in the home folder", async (t) => {
  const home = await temporaryFolder(t);
  const command = await program(join(home, "my tools", "cairn"), "");
  assert.equal(await commandOfSetting(command, machine({ home })), command);
  assert.equal(await commandOfSetting(` ${command} `, machine({ home })), command);
  assert.equal(await commandOfSetting("~/my tools/cairn", machine({ home })), command);
});

void test("what is wrong is said, with what to do", async (t) => {
  const root = await temporaryFolder(t);
  const here = machine({ home: root });
  await writeFile(join(root, "text"), "");
  await chmod(join(root, "text"), 0o644);

  assert.match(
    await refusal("bin/cairn", here),
    /"bin\/cairn", which is not an absolute path.*start with \//,
  );
  assert.match(await refusal("~other/cairn", here), /not an absolute path/);
  assert.match(await refusal("${workspaceFolder}/cairn", here), /variables are not replaced/);
  assert.match(await refusal(join(root, "none"), here), /no such file.*Correct the path/);
  assert.match(await refusal("~", here), /is a folder.*the cairn command in it/);
  assert.match(await refusal("~/text", here), /not an executable file.*chmod \+x/);
  assert.match(await refusal(7, here), /not a text/);
});

void test("on Windows a path has a drive, and a batch file is refused", async (t) => {
  // A name like any other here, which Windows' rules take for a whole path.
  const former = process.cwd();
  process.chdir(await temporaryFolder(t));
  t.after(() => {
    process.chdir(former);
  });
  await writeFile("C:\\cairn.cmd", "");
  const windows = machine({ platform: "win32", home: "C:\\Users\\me" });
  assert.match(await refusal("\\tools\\cairn.exe", windows), /not an absolute path.*start with a drive/);
  assert.match(await refusal("C:\\none\\cairn.exe", windows), /no such file/);
  assert.match(await refusal("~\\cairn.exe", windows), /"~\\cairn.exe", but there is no such file/);
  assert.match(await refusal("C:\\cairn.cmd", windows), /batch file.*cairn\.exe/);
});

void test("a command in the workspace is refused until that is trusted", async (t) => {
  const workspace = await temporaryFolder(t);
  const command = await program(join(workspace, ".venv", "bin", "cairn"), "");
  assert.equal(await commandOfSetting(command, machine({ folders: [workspace] })), command);
  const untrusted = machine({ folders: [workspace], trusted: false });
  assert.match(await refusal(command, untrusted), /lies in a folder of this workspace. Trust the workspace/);
});
