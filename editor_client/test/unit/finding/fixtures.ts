// Real files to find things among, and a machine to find them on.

import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";

import type { Surroundings } from "../../../src/finding/surroundings.ts";

/** A folder that is removed when the test ends. */
export async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "cairn finding ")));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** A shell script that can be started; returns its path. */
export async function program(path: string, script: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

/** A command that says its version as Cairn's does. */
export function cairn(path: string, version = "0.1.0"): Promise<string> {
  return program(path, `echo "cairn, version ${version} (cairn-ls)"`);
}

export interface Machine extends Surroundings {
  readonly logged: string[];
}

/** This machine, with nothing on its PATH and an empty, trusted workspace. */
export function machine(changes: Partial<Surroundings> = {}): Machine {
  const logged: string[] = [];
  return {
    platform: process.platform,
    env: {},
    home: tmpdir(),
    trusted: true,
    folders: [],
    log(line) {
      logged.push(line);
    },
    logged,
    ...changes,
  };
}
