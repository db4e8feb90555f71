// Makes an environment with the server: Python's venv, and packages checked by their digests.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { messageOf } from "../problem.ts";
import { takeLock } from "./install_lock.ts";
import {
  type Bundle,
  completeServer,
  lockName,
  markComplete,
  otherEnvironments,
  removeEnvironment,
} from "./managed_folder.ts";
import { findInterpreter, type Interpreter, nameOf } from "./python_interpreter.ts";
import { run, type RunOptions } from "./run.ts";
import { commandIn } from "./search_order.ts";
import { usableVersion } from "./server_version.ts";
import { pythonEnvironment, type Surroundings } from "./surroundings.ts";

export interface Installation {
  readonly bundle: Bundle;
  /** The folder of all environments. */
  readonly environments: string;
  /** Interpreters that the user chose in the editor. */
  readonly chosenPythons: readonly string[];
  readonly surroundings: Surroundings;
  /** Receives a description of each step. */
  readonly report: (stage: string) => void;
  readonly signal: AbortSignal;
}

export interface Installed {
  readonly command: string;
  readonly version: string;
}

/** The message says what failed and what to do. */
export class InstallError extends Error {}

/** Options that would make pip install other packages, or to another place. */
const PIP_VARIABLES = ["TARGET", "PREFIX", "ROOT", "USER", "PYTHON", "REQUIREMENT", "CONSTRAINT", "EDITABLE"];
/** How many of the last lines of a failed program are searched for the error. */
const LAST_LINES = 60;

/**
 * Throws InstallError, NoPythonError, or `signal`'s reason; nothing remains then. Of several concurrent
 * installations, in any window, one works and the others wait for its result.
 */
export async function install(installation: Installation): Promise<Installed> {
  const { bundle, environments, surroundings, report, signal } = installation;
  const { platform, log } = surroundings;
  await mkdir(environments, { recursive: true });
  const lock = await takeLock(join(environments, lockName(bundle.name)), {
    signal,
    onWait: () => {
      report("Waiting for another window that is installing");
    },
  });
  try {
    const folder = join(environments, bundle.name);
    let command = await completeServer(folder, platform);
    let version = command === undefined ? undefined : await usableVersion(command, surroundings);
    if (command === undefined || version === undefined) {
      await removeEnvironment(folder);
      try {
        const base = await makeEnvironment(folder, installation);
        command = commandIn(folder, platform);
        version = await usableVersion(command, surroundings);
        if (version === undefined) {
          throw new InstallError("The server was installed but does not start. The log says why.");
        }
        if (!(await lock.isHeld())) {
          throw new InstallError("Another window installed the server meanwhile. Restart the server.");
        }
        await markComplete(folder, base);
      } catch (problem) {
        if (await lock.isHeld()) await removeEnvironment(folder);
        throw problem;
      }
    }
    for (const old of await otherEnvironments(environments, bundle.name)) {
      log(`removing ${old}`);
      await removeEnvironment(old).catch((problem: unknown) => {
        log(`not removed: ${String(problem)}`); // Windows keeps running programs.
      });
    }
    return { command, version };
  } finally {
    await lock.release();
  }
}

/** Returns the interpreter that the environment depends on. */
async function makeEnvironment(folder: string, installation: Installation): Promise<string> {
  const { bundle, chosenPythons, surroundings, report, signal } = installation;
  report("Looking for Python");
  const interpreter = await findInterpreter(chosenPythons, surroundings, signal);

  report("Making an environment");
  const { command, args } = interpreter;
  await runStep(command, [...args, "-I", "-m", "venv", folder], installation, (lines) =>
    environmentFailed(lines, interpreter),
  );

  report("Installing packages");
  const pip = ["-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check"];
  // Source distributions are excluded, because they run code that fetches packages without digests.
  const strict = ["--no-deps", "--only-binary", ":all:", "--progress-bar", "off"];
  const python = commandIn(folder, surroundings.platform, "python");
  const failed = (lines: readonly string[]) => packagesFailed(lines, interpreter, surroundings.platform);
  const pinned = ["--require-hashes", "-r", bundle.requirements];
  await runStep(python, [...pip, ...strict, ...pinned], installation, failed);
  await runStep(python, [...pip, ...strict, "--no-index", bundle.wheel], installation, failed);
  return interpreter.base;
}

/**
 * Run a program with its output in the log. Throws InstallError with the result of `explain` for its last
 * lines.
 */
async function runStep(
  command: string,
  args: readonly string[],
  { surroundings, signal }: Installation,
  explain: (lines: readonly string[]) => string,
): Promise<void> {
  const lines: string[] = [];
  const options: RunOptions = {
    cwd: surroundings.home,
    env: installEnvironment(surroundings),
    signal,
    onLine(line) {
      surroundings.log(line);
      lines.push(line);
      if (lines.length > LAST_LINES) lines.shift();
    },
  };
  surroundings.log([command, ...args].join(" "));
  let code: number | null;
  try {
    ({ code } = await run(command, args, options));
  } catch (problem) {
    signal.throwIfAborted();
    throw new InstallError(`${command} could not be started: ${messageOf(problem)}`);
  }
  if (code !== 0) throw new InstallError(explain(lines));
}

/**
 * The user's pip configuration (mirrors, proxies, certificates), without options that would misplace
 * packages.
 */
export function installEnvironment(surroundings: Pick<Surroundings, "env">): NodeJS.ProcessEnv {
  const misplacing = PIP_VARIABLES.map((name) => `PIP_${name}`);
  const kept = Object.entries(pythonEnvironment(surroundings)).filter(
    ([name]) => !misplacing.includes(name.toUpperCase()),
  );
  return Object.fromEntries(kept);
}

/** The line that says why a program failed: the last one marked as an error, else the last. */
export function reasonIn(lines: readonly string[]): string {
  const written = lines.map((line) => line.trim()).filter((line) => line && !line.startsWith("[notice]"));
  const last = written.findLast((line) => /^error:/i.test(line)) ?? written.at(-1);
  const reason = (last ?? "It ended without saying why.").replace(/^error:\s*/i, "");
  return /[.!?]$/.test(reason) ? reason : `${reason}.`;
}

export function packagesFailed(
  lines: readonly string[],
  interpreter: Interpreter,
  platform: NodeJS.Platform,
): string {
  const reason = `The packages were not installed: ${reasonIn(lines)}`;
  const all = lines.join("\n");
  if (/do not match the hashes/i.test(all)) {
    return `${reason} A proxy or mirror seems to alter packages. Nothing was kept.`;
  }
  if (/no space left|not enough space/i.test(all)) return `${reason} Make room on the disk, then try again.`;
  if (/certificate|SSLError/i.test(all)) {
    return `${reason} Tell pip which certificates to trust: pip config set global.cert FILE`;
  }
  if (/proxy|timed out|connection|getaddrinfo|name resolution|retrying/i.test(all)) {
    return (
      `${reason} Check the network. Behind a proxy, set http.proxy in the editor's settings,` +
      " or give pip its address: pip config set global.proxy ADDRESS"
    );
  }
  if (/no matching distribution|not a supported wheel/i.test(all)) {
    return `${reason} A package may be missing for ${nameOf(interpreter)} on ${platform}; use Python 3.13.`;
  }
  return `${reason} The log has all of what pip said.`;
}

function environmentFailed(lines: readonly string[], interpreter: Interpreter): string {
  return `${nameOf(interpreter)} could not make an environment: ${reasonIn(lines)} The log has its output.`;
}
