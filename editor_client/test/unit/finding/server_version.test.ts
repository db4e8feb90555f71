import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { isOlder, usableVersion, versionIn } from "../../../src/finding/server_version.ts";
import { cairn, type Machine, machine, program, temporaryFolder } from "./fixtures.ts";

void test("the version is read from Cairn's own words only", () => {
  assert.equal(versionIn("cairn, version 0.1.0 (cairn-ls)\n"), "0.1.0");
  assert.equal(versionIn("cairn, version 0.2.0.dev3+local (cairn-ls)\r\n"), "0.2.0.dev3+local");
  assert.equal(versionIn("cairn, version 0.4.1\n"), undefined);
  assert.equal(versionIn("cairn, version 0.4.1 (cairn-stones)\n"), undefined);
  assert.equal(versionIn("usage: cairn [options]\ncairn, version 0.1.0 (cairn-ls)\n"), undefined);
  assert.equal(versionIn(""), undefined);
});

const orders: [string, string, boolean][] = [
  ["0.1.0", "0.1.0", false],
  ["0.0.9", "0.1.0", true],
  ["0.9", "0.10", true],
  ["0.10", "0.9", false],
  ["1", "1.0.0", false],
  ["0.1.0.dev3", "0.1.0", false],
  ["0.1", "0.1.1", true],
];
for (const [version, other, expected] of orders) {
  void test(`${version} is ${expected ? "" : "not "}older than ${other}`, () => {
    assert.equal(isOlder(version, other), expected);
  });
}

function last({ logged }: Machine): string {
  return logged.at(-1) ?? "";
}

void test("a stranger, an old version and a broken command are not used, and the log says why", async (t) => {
  const root = await temporaryFolder(t);
  const here = machine();
  assert.equal(await usableVersion(await cairn(join(root, "ours"), "0.3.1"), here), "0.3.1");
  assert.deepEqual(here.logged, []);

  const stranger = await program(join(root, "stranger"), "echo 'cairn, version 2.0'");
  assert.equal(await usableVersion(stranger, here), undefined);
  assert.match(last(here), /stranger is not used: it is another program/);
  assert.equal(await usableVersion(await cairn(join(root, "old"), "0.0.9"), here), undefined);
  assert.match(last(here), /version 0\.0\.9, and 0\.1\.0 or later/);
  const broken = await program(join(root, "broken"), "");
  assert.equal(await usableVersion(join(broken, "x"), here), undefined);
  assert.match(last(here), /could not be asked/);
});

void test("it is asked in the home folder, without what would lead Python elsewhere", async (t) => {
  const home = await temporaryFolder(t);
  const asked = await program(
    join(home, "bin", "cairn"),
    '[ "$PWD$PYTHONPATH$PYTHONHOME$PYTHONSAFEPATH" = "$HOME"1 ] && echo "cairn, version 0.1.0 (cairn-ls)"',
  );
  const env = { HOME: home, PYTHONPATH: "/workspace", PYTHONHOME: "/workspace" };
  assert.equal(await usableVersion(asked, machine({ home, env })), "0.1.0");
});
