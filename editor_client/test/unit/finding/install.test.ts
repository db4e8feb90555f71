import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import {
  install,
  type Installation,
  InstallError,
  installEnvironment,
  packagesFailed,
  reasonIn,
} from "../../../src/finding/install.ts";
import { completeServer, readBundle } from "../../../src/finding/managed_folder.ts";
import { run } from "../../../src/finding/run.ts";
import { machine, temporaryFolder } from "./fixtures.ts";

/** Writes a wheel with one module and, if named, its command. Arguments: file, name, module text, command. */
const WRITE_WHEEL = `
import sys, zipfile
file, name, text, command = sys.argv[1:]
info = name + "-0.1.0.dist-info/"
with zipfile.ZipFile(file, "w") as wheel:
    wheel.writestr(name + ".py", text)
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: " + name + "\\nVersion: 0.1.0\\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    if command:
        entry = command + " = " + name + ":main\\n"
        wheel.writestr(info + "entry_points.txt", "[console_scripts]\\n" + entry)
    wheel.writestr(info + "RECORD", "")
`;
/** Says its version with the help of the other package; nothing else is asked of it. */
const SERVER = `
import sys
def main():
    import cairn_part
    if sys.argv[1:] == ["--version"]:
        print("cairn, version", cairn_part.VERSION, "(cairn-ls)")
    else:
        sys.exit("cairn: no such command")
`;

/** A small packaged server with one dependency, with the right digest or a wrong one. */
async function bundleIn(folder: string, { intact = true } = {}) {
  const server = join(folder, intact ? "extension" : "broken", "server");
  await mkdir(server, { recursive: true });
  const write = (file: string, ...rest: string[]) =>
    run("python3", ["-c", WRITE_WHEEL, file, ...rest], { cwd: folder, env: process.env });
  const part = join(folder, "cairn_part-0.1.0-py3-none-any.whl");
  await write(part, "cairn_part", "VERSION = '0.1.0'", "");
  await write(join(server, "cairn_ls-0.1.0-py3-none-any.whl"), "cairn_ls", SERVER, "cairn");
  const digest = createHash("sha256").update(await readFile(part));
  if (!intact) digest.update("something else");
  const link = new URL(`file://${part}`).href;
  await writeFile(
    join(server, "requirements.txt"),
    `cairn_part @ ${link} --hash=sha256:${digest.digest("hex")}\n`,
  );
  const bundle = await readBundle(join(server, ".."), "1.0.0");
  assert.ok(bundle);
  return bundle;
}

type Changes = Partial<Installation> & Pick<Installation, "bundle" | "environments">;

function installation(changes: Changes): Installation & { stages: string[] } {
  const stages: string[] = [];
  return {
    chosenPythons: [],
    surroundings: machine({ env: process.env }),
    report: (stage) => stages.push(stage),
    signal: new AbortController().signal,
    stages,
    ...changes,
  };
}

void test("two windows install at once: one works, both have the server", { timeout: 180_000 }, async (t) => {
  const root = await temporaryFolder(t);
  const environments = join(root, "storage", "server");
  const bundle = await bundleIn(root);
  await mkdir(join(environments, "0.9.0-former"), { recursive: true });

  const windows = [installation({ bundle, environments }), installation({ bundle, environments })];
  const installed = await Promise.all(windows.map(install));
  const folder = join(environments, bundle.name);
  for (const { command, version } of installed) {
    assert.equal(command, await completeServer(folder, process.platform));
    assert.equal(version, "0.1.0");
  }
  const [working, waiting] = windows[0]?.stages.includes("Making an environment")
    ? windows
    : windows.toReversed();
  assert.deepEqual(working?.stages, ["Looking for Python", "Making an environment", "Installing packages"]);
  assert.deepEqual(waiting?.stages, ["Waiting for another window that is installing"]);
  assert.deepEqual(await readdir(environments), [bundle.name]);
});

void test(
  "a package that is another than was pinned is not installed, and nothing is kept",
  { timeout: 180_000 },
  async (t) => {
    const root = await temporaryFolder(t);
    const environments = join(root, "server");
    const bundle = await bundleIn(root, { intact: false });
    await assert.rejects(install(installation({ bundle, environments })), (problem) => {
      assert.ok(problem instanceof InstallError);
      assert.match(problem.message, /^The packages were not installed: .*seems to alter packages/s);
      return true;
    });
    assert.deepEqual(await readdir(environments), []);
  },
);

void test("cancelling leaves nothing behind", { timeout: 60_000 }, async (t) => {
  const root = await temporaryFolder(t);
  const environments = join(root, "server");
  const aborting = new AbortController();
  const report = (stage: string) => {
    if (stage === "Making an environment") setImmediate(() => {
      aborting.abort(new Error("enough"));
    }); // prettier-ignore
  };
  const bundle = await bundleIn(root);
  const installing = install(installation({ bundle, environments, report, signal: aborting.signal }));
  await assert.rejects(installing, { message: "enough" });
  assert.deepEqual(await readdir(environments), []);
});

void test("pip's own configuration stays, but not what would install to another place", () => {
  const env = {
    PATH: "/bin",
    PIP_INDEX_URL: "https://mirror.example",
    HTTPS_PROXY: "http://proxy.example",
    PIP_TARGET: "/elsewhere",
    pip_user: "1",
    PYTHONPATH: "/workspace",
    PythonHome: "/workspace",
  };
  assert.deepEqual(installEnvironment({ env }), {
    PATH: "/bin",
    PIP_INDEX_URL: "https://mirror.example",
    HTTPS_PROXY: "http://proxy.example",
    PYTHONSAFEPATH: "1",
  });
});

void test("the reason is the last line that is an error", () => {
  const lines = [
    "Collecting x",
    "ERROR: first",
    "ERROR: No matching distribution found for x",
    "[notice] new pip",
    "",
  ];
  assert.equal(reasonIn(lines), "No matching distribution found for x.");
  assert.equal(reasonIn(["something", "Killed"]), "Killed.");
  assert.equal(reasonIn(["Error: Out of reach.", "Check the network!"]), "Out of reach.");
  assert.equal(reasonIn([]), "It ended without saying why.");
});

const none = "ERROR: No matching distribution found for numpy==2.5.5";
const failures: [string, string[], RegExp][] = [
  [
    "no network",
    ["WARNING: Retrying after connection broken by 'NewConnectionError'", none],
    /Check the network.*http\.proxy/,
  ],
  ["a certificate", ["Could not fetch URL: SSLError(CERTIFICATE_VERIFY_FAILED)", none], /global\.cert/],
  ["a full disk", ["ERROR: Could not install: [Errno 28] No space left on device"], /Make room/],
  ["no package for this Python", [none], /missing for Python 3\.15\.0 \(python3\.15\) on linux/],
  ["anything else", ["ERROR: Permission denied"], /Permission denied\. The log has all/],
];
for (const [what, lines, expected] of failures) {
  void test(`after ${what} the message says what to do`, () => {
    const interpreter = { command: "/usr/bin/python3.15", args: [], version: "3.15.0", base: "" };
    assert.match(packagesFailed(lines, interpreter, "linux"), expected);
  });
}
