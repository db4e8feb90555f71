// Makes cairn-VERSION.vsix: the bundles, and the server as a wheel with its lock file, for *Install Server*.
// CAIRN_PYTHON builds the wheel; it needs pip and hatchling.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { createVSIX } from "@vscode/vsce";

const here = import.meta.dirname;
const root = join(here, "..");
const server = join(here, "server");
const { version } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));

function run(command, ...args) {
  const { status, error } = spawnSync(command, args, { cwd: here, stdio: "inherit" });
  if (status !== 0) throw error ?? new Error(`${command} ended with ${status}`);
}

function buildServer() {
  const python = process.env.CAIRN_PYTHON ?? join(root, ".venv", "bin", "python");
  rmSync(server, { recursive: true, force: true });
  mkdirSync(server);
  run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", server, root);
  const runtime = lockedLines("requirements-runtime.lock");
  const missing = runtime.difference(lockedLines("requirements.lock"));
  if (missing.size > 0)
    throw new Error(`The lock files differ; run scripts/lock:\n${[...missing].join("\n")}`);
  copyFileSync(join(root, "requirements-runtime.lock"), join(server, "requirements.txt"));
}

/** Without their conditions: what Cairn needs on some systems, its development may need on all. */
function lockedLines(name) {
  const lines = readFileSync(join(root, name), "utf8").split("\n");
  return new Set(lines.map((line) => line.replace(/ ;[^\\]*/, " ")));
}

run(process.execPath, "esbuild.mjs");
buildServer();
copyFileSync(join(root, "LICENSE"), join(here, "LICENSE"));
const packagePath = join(here, `cairn-${version}.vsix`);
// Everything that runs is in the bundle.
await createVSIX({
  cwd: here,
  packagePath,
  dependencies: false,
  allowMissingRepository: true,
  rewriteRelativeLinks: false,
});
