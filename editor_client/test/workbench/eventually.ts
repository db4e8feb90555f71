// Waiting for a state, the one way in which these tests wait.

import { setTimeout as pause } from "node:timers/promises";

/** Two busy cores need long for what takes a second otherwise. */
export const DEADLINE_MS = 120_000;
const INTERVAL_MS = 100;

/**
 * Calls `ask` until it returns a value that is not false, undefined or null, and returns the value.
 * Exceptions are ignored until the deadline, when the last one is thrown.
 */
export async function eventually<T>(
  what: string,
  ask: () => T | Promise<T>,
  deadlineMs: number = DEADLINE_MS,
): Promise<Exclude<T, false | undefined | null>> {
  const end = Date.now() + deadlineMs;
  for (;;) {
    let last: unknown;
    try {
      last = await ask();
      if (last !== false && last !== undefined && last !== null) {
        return last as Exclude<T, false | undefined | null>;
      }
    } catch (problem) {
      last = problem;
    }
    if (Date.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`, { cause: last });
    await pause(INTERVAL_MS);
  }
}
