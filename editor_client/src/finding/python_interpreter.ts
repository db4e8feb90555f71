// Finds a Python for the environment of the server.

import { basename } from "node:path";

import { isExecutable, onPath } from "./executable.ts";
import { run } from "./run.ts";
import { pythonEnvironment, type Surroundings } from "./surroundings.ts";
import { isInUntrustedFolder } from "./trust.ts";

export interface Interpreter {
  readonly command: string;
  /** Arguments between the command and Python's own: `-3` for the launcher on Windows. */
  readonly args: readonly string[];
  readonly version: string;
  /** The interpreter that an environment made with it depends on. */
  readonly base: string;
}

/** No suitable Python was found; the message says what to install. */
export class NoPythonError extends Error {}

/** `requires-python` of the server's package. */
const OLDEST = [3, 11] as const;
/** Newer versions first, because they are faster. A `python3` newer than these may lack binary packages. */
const NAMES = ["python3.14", "python3.13", "python3.12", "python3.11", "python3", "python"];
const TIMEOUT_MS = 10_000;

/** The code runs in any Python 3, so that an old one can report its version. */
const QUESTION = `
import importlib.util, json, sys
lacks = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
base = getattr(sys, "_base_executable", None) or sys.executable
print(json.dumps({"version": list(sys.version_info[:3]), "base": base, "lacks": lacks}))
`;

interface Answer {
  readonly version: readonly number[];
  readonly base: string;
  readonly lacks: readonly string[];
}

/**
 * The first suitable one of `chosen`, the interpreters chosen in the editor, and of those on the PATH. Throws
 * NoPythonError, or `signal`'s reason.
 */
export async function findInterpreter(
  chosen: readonly string[],
  surroundings: Surroundings,
  signal?: AbortSignal,
): Promise<Interpreter> {
  const shortcomings: string[] = [];
  for (const { command, args } of await candidates(chosen, surroundings)) {
    const answer = await ask(command, args, surroundings, signal);
    signal?.throwIfAborted();
    if (!answer) continue;
    const version = answer.version.join(".");
    if (isTooOld(answer.version)) {
      shortcomings.push(`${command} is Python ${version}`);
    } else if (answer.lacks.length > 0) {
      shortcomings.push(`${command} (Python ${version}) lacks ${answer.lacks.join(" and ")}`);
    } else {
      surroundings.log(`using Python ${version}: ${command}`);
      return { command, args, version, base: answer.base };
    }
  }
  throw new NoPythonError(whatToInstall(shortcomings, surroundings.platform));
}

async function candidates(
  chosen: readonly string[],
  surroundings: Surroundings,
): Promise<{ command: string; args: string[] }[]> {
  const found: { command: string; args: string[] }[] = [];
  for (const command of chosen) {
    if (!(await isExecutable(command, surroundings.platform))) continue;
    if (await isInUntrustedFolder(command, surroundings)) {
      surroundings.log(`${command} is not used: it lies in this workspace, which is not trusted`);
    } else {
      found.push({ command, args: [] });
    }
  }
  if (surroundings.platform === "win32") {
    for (const command of await onPath("py", surroundings)) found.push({ command, args: ["-3"] });
  }
  for (const name of NAMES) {
    for (const command of await onPath(name, surroundings)) {
      // Apple's Python is too old, and without its tools, starting it opens a window that offers them.
      const isApples = surroundings.platform === "darwin" && command.startsWith("/usr/bin/");
      if (!isApples) found.push({ command, args: [] });
    }
  }
  return found;
}

/** The version that `command` reports; undefined, with a line in the log, if it is not a Python 3. */
async function ask(
  command: string,
  args: readonly string[],
  surroundings: Surroundings,
  signal?: AbortSignal,
): Promise<Answer | undefined> {
  const { home, log } = surroundings;
  try {
    const { code, output } = await run(command, [...args, "-I", "-c", QUESTION], {
      cwd: home,
      env: pythonEnvironment(surroundings),
      timeoutMs: TIMEOUT_MS,
      ...(signal && { signal }),
    });
    if (code === 0) return JSON.parse(output) as Answer;
    log(`${command} is not used: it ended with code ${code ?? "none"}`);
    return undefined;
  } catch (problem) {
    if (!signal?.aborted) log(`${command} is not used: ${String(problem)}`);
    return undefined;
  }
}

function isTooOld([major = 0, minor = 0]: readonly number[]): boolean {
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
}

function whatToInstall(shortcomings: readonly string[], platform: NodeJS.Platform): string {
  const found = shortcomings.length > 0 ? ` Found: ${[...new Set(shortcomings)].join("; ")}.` : "";
  const remedy =
    platform === "linux"
      ? "Install it with your package manager (on Debian and Ubuntu: sudo apt install python3 python3-venv)" +
        " or from python.org/downloads, then try again."
      : "Install it from python.org/downloads, then try again.";
  return `Cairn needs Python ${OLDEST.join(".")} or later with venv and ensurepip.${found} ${remedy}`;
}

/** The name of `interpreter` in a message. */
export function nameOf({ command, version }: Interpreter): string {
  return `Python ${version} (${basename(command)})`;
}
