// Where the extension keeps the server that it installs: a folder for each state of what it is installed from.

import { createHash } from "node:crypto";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { isExecutable } from "./executable.ts";
import { commandIn } from "./search_order.ts";

/** What the extension brings along to install from. */
export interface Bundle {
  /** requirements.txt: every package in one version, with its digests. */
  readonly requirements: string;
  /** The server's own wheel. */
  readonly wheel: string;
  /** The name of the environment's folder: the extension's version, and a digest of both files. */
  readonly name: string;
}

/** Written when all is installed: an environment without it is not used. */
const STAMP = "complete.json";

interface Stamp {
  /** The interpreter that the environment was made with, without which it does not work. */
  readonly base: string;
}

/** The bundle in the extension's folder; undefined in one that was built without. */
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

/** The folder that holds all environments, in the extension's own storage. */
export function environmentsFolder(storage: string): string {
  return join(storage, "server");
}

/** The command of the environment in `folder`, if that is complete and its Python is still there. */
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

/** Remove an environment, the stamp first: what is left if that is interrupted is not used. */
export async function removeEnvironment(folder: string): Promise<void> {
  await rm(join(folder, STAMP), { force: true });
  // Windows refuses for a moment what a process that is just ending had open.
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}

/** The folders of other versions' environments that nobody is installing just now. */
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
