// The folders of installed servers: one for each packaged version.

import { createHash } from "node:crypto";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { isExecutable } from "./executable.ts";
import { commandIn } from "./search_order.ts";

/** The packaged server to install from. */
export interface Bundle {
  /** requirements.txt: each package in one version, with its digests. */
  readonly requirements: string;
  /** The server's wheel. */
  readonly wheel: string;
  /** The name of the environment's folder: the extension's version, and a digest of both files. */
  readonly name: string;
}

/** Written after the installation: an environment without it is not used. */
const STAMP = "complete.json";

interface Stamp {
  /** The interpreter that the environment depends on. */
  readonly base: string;
}

/** The packaged server in the extension's folder; undefined in a build without one. */
export async function readBundle(extension: string, version: string): Promise<Bundle | undefined> {
  const folder = join(extension, "server");
  const names = await readdir(folder).catch((): string[] => []);
  const wheels = names.filter((name) => /^cairn_ls-.*\.whl$/.test(name));
  if (wheels.length !== 1 || !names.includes("requirements.txt")) return undefined;
  const bundle = { requirements: join(folder, "requirements.txt"), wheel: join(folder, wheels[0] ?? "") };
  const digest = createHash("sha256");
  for (const file of [bundle.requirements, bundle.wheel]) digest.update(await readFile(file));
  return { ...bundle, name: `${version}-${digest.digest("hex").slice(0, 12)}` };
}

/** The folder of all environments, in the extension's storage. */
export function environmentsFolder(storage: string): string {
  return join(storage, "server");
}

/** The command of the environment in `folder`, if it is complete and its Python still exists. */
export async function completeServer(folder: string, platform: NodeJS.Platform): Promise<string | undefined> {
  let stamp: Stamp;
  try {
    stamp = JSON.parse(await readFile(join(folder, STAMP), "utf8")) as Stamp;
  } catch {
    return undefined;
  }
  const command = commandIn(folder, platform);
  const needed = [stamp.base, commandIn(folder, platform, "python"), command];
  const there = await Promise.all(needed.map((path) => isExecutable(path, platform)));
  return there.every(Boolean) ? command : undefined;
}

export async function markComplete(folder: string, base: string): Promise<void> {
  await writeFile(join(folder, STAMP), JSON.stringify({ base } satisfies Stamp));
}

/** Remove an environment, the stamp first, so that an interrupted removal leaves no usable part. */
export async function removeEnvironment(folder: string): Promise<void> {
  await rm(join(folder, STAMP), { force: true });
  // Windows refuses for a moment to delete files of a process that is ending.
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}

/** The folders of other versions that no window is installing. */
export async function otherEnvironments(environments: string, name: string): Promise<string[]> {
  const entries = await readdir(environments, { withFileTypes: true }).catch(() => []);
  const names = new Set(entries.map((entry) => entry.name));
  return entries
    .filter((entry) => entry.isDirectory() && entry.name !== name && !names.has(lockName(entry.name)))
    .map((entry) => join(environments, entry.name));
}

export function lockName(name: string): string {
  return `${name}.lock`;
}
