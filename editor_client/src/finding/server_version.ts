// Whether a command called `cairn` is this project's, and new enough. Other programs have that name, too.

import { run } from "./run.ts";
import { pythonEnvironment, type Surroundings } from "./surroundings.ts";

/** The oldest server that supports all requests of this extension. */
export const MINIMUM_VERSION = "0.1.0";

/** `cairn --version` takes 0.13 s, or longer on a slow disk. */
const TIMEOUT_MS = 5_000;

/**
 * The version in the output of `cairn --version`; undefined for other programs, which lack the name in
 * brackets.
 */
export function versionIn(output: string): string | undefined {
  return /^cairn, version (\d+(?:\.\d+)*\S*) \(cairn-ls\)\s*$/.exec(output)?.[1];
}

/** Whether `version` is older than `other`; only their leading numbers count. */
export function isOlder(version: string, other: string): boolean {
  const [numbers, others] = [numbersOf(version), numbersOf(other)];
  for (let at = 0; at < Math.max(numbers.length, others.length); at++) {
    const difference = (numbers[at] ?? 0) - (others[at] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/**
 * The version of the server that `command` starts; undefined, with a line in the log, if it cannot be used.
 */
export async function usableVersion(
  command: string,
  surroundings: Surroundings,
): Promise<string | undefined> {
  const { home, log } = surroundings;
  let output: string;
  try {
    const options = { cwd: home, env: pythonEnvironment(surroundings), timeoutMs: TIMEOUT_MS };
    ({ output } = await run(command, ["--version"], options));
  } catch (problem) {
    log(`${command} is not used: it could not be asked for its version: ${String(problem)}`);
    return undefined;
  }
  const version = versionIn(output);
  if (version === undefined) {
    log(`${command} is not used: it is another program of that name`);
    return undefined;
  }
  if (isOlder(version, MINIMUM_VERSION)) {
    log(`${command} is not used: it is version ${version}, and ${MINIMUM_VERSION} or later is needed`);
    return undefined;
  }
  return version;
}

function numbersOf(version: string): number[] {
  return (/^\d+(?:\.\d+)*/.exec(version)?.[0] ?? "0").split(".").map(Number);
}
