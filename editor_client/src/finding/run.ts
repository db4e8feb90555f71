// Runs a program to its end, with a timeout, and kills all its processes when it is aborted.

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";

export interface RunOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Receives each line of output and errors. */
  readonly onLine?: (line: string) => void;
}

export interface Ended {
  /** The exit code; null if a signal ended the program. */
  readonly code: number | null;
  /** The beginning of stdout. */
  readonly output: string;
}

/** The limit of the kept output; `onLine` receives everything. */
const OUTPUT_CHARACTERS = 100_000;
/** The time for cleaning up after an interrupt; Python programs remove unfinished files. */
const GRACE_MS = 3_000;

export class TimeoutError extends Error {}

/**
 * Rejects with the system's error if the program cannot be started, with TimeoutError after `timeoutMs`, and
 * with the signal's reason if it aborts. No process of the program's group remains then.
 */
export function run(command: string, args: readonly string[], options: RunOptions): Promise<Ended> {
  const { cwd, env, timeoutMs, signal, onLine } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(reasonOf(signal));
      return;
    }
    const child = spawn(command, args, {
      cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
      detached: process.platform !== "win32", // its own process group, so that all of it can be killed
    });
    let output = "";
    let broken: Error | undefined;
    let grace: NodeJS.Timeout | undefined;

    const breakOff = (why: Error) => {
      if (broken) return;
      broken = why;
      if (child.exitCode !== null || child.signalCode !== null) {
        settle(); // The program ended, and one of its children keeps its output open.
        return;
      }
      interruptTree(child);
      grace = setTimeout(() => {
        killTree(child);
      }, GRACE_MS);
    };
    let timeout: NodeJS.Timeout | undefined;
    if (timeoutMs !== undefined) {
      timeout = setTimeout(() => {
        breakOff(new TimeoutError(`no answer within ${timeoutMs / 1000} s`));
      }, timeoutMs);
    }
    const onAbort = () => {
      if (signal) breakOff(reasonOf(signal));
    };
    signal?.addEventListener("abort", onAbort);

    const settle = (ended?: Ended) => {
      clearTimeout(timeout);
      clearTimeout(grace);
      signal?.removeEventListener("abort", onAbort);
      if (broken) {
        killTree(child); // Kill children that outlived the program.
        child.stdout.destroy();
        child.stderr.destroy();
        reject(broken);
      } else if (ended) {
        resolve(ended);
      }
    };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (output.length < OUTPUT_CHARACTERS) output += text;
    });
    if (onLine) {
      for (const stream of [child.stdout, child.stderr]) createInterface(stream).on("line", onLine);
    } else {
      child.stderr.resume();
    }
    child.once("error", (problem) => {
      clearTimeout(timeout);
      signal?.removeEventListener("abort", onAbort);
      reject(problem);
    });
    child.once("exit", () => {
      if (broken) settle();
    });
    child.once("close", (code) => {
      settle({ code, output });
    });
  });
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason));
}

function interruptTree(child: ChildProcess): void {
  if (process.platform === "win32") killTree(child);
  else signalGroup(child, "SIGINT");
}

function killTree(child: ChildProcess): void {
  if (process.platform !== "win32") {
    signalGroup(child, "SIGKILL");
  } else if (child.pid !== undefined && child.exitCode === null) {
    // Windows has no process groups: children are known only while their parent runs.
    const taskkill = join(process.env.SystemRoot ?? "C:\\Windows", "System32", "taskkill.exe");
    spawn(taskkill, ["/pid", String(child.pid), "/t", "/f"], { stdio: "ignore", windowsHide: true }).on(
      "error",
      () => child.kill(),
    );
  }
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // No process of the group remains.
  }
}
