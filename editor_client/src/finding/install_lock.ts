// A lock file, so that only one of two windows makes an environment. If the owner ended or shows no life,
// another window takes the lock over.

import { randomUUID } from "node:crypto";
import { readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

export interface LockOptions {
  /** How often to check whether the lock is free. */
  readonly pollMs?: number;
  readonly signal?: AbortSignal;
  /** Called once if another window has the lock. */
  readonly onWait?: () => void;
}

export interface Lock {
  /** Whether the lock was free at once. */
  readonly atOnce: boolean;
  /** Whether the lock is still ours: it may have been taken over while the computer slept. */
  isHeld(): Promise<boolean>;
  release(): Promise<void>;
}

interface Owner {
  readonly host: string;
  readonly pid: number;
  readonly token: string;
}

const POLL_MS = 1_000;
/** How often the owner touches the file. The owner may be on another computer with the same home folder. */
const TOUCH_MS = 5_000;
/**
 * After this number of checks of an untouched file, its owner counts as gone. Checks are counted instead of
 * seconds, because a sleeping computer stops both the owner and those who wait.
 */
const LOOKS = 60;

/** Rejects with `signal`'s reason if it aborts. */
export async function takeLock(path: string, options: LockOptions = {}): Promise<Lock> {
  const { pollMs = POLL_MS, signal, onWait } = options;
  const me: Owner = { host: hostname(), pid: process.pid, token: randomUUID() };
  let looks = 0;
  let seen = "";
  let atOnce = true;
  for (;;) {
    signal?.throwIfAborted();
    if (await create(path, me)) return held(path, me, atOnce);
    const state = await stateOf(path);
    if (!state) continue;
    looks = state.seen === seen ? looks + 1 : 0;
    seen = state.seen;
    if (looks >= LOOKS || isGone(state.owner)) {
      await takeAway(path, state.owner);
      continue;
    }
    if (atOnce) onWait?.();
    atOnce = false;
    await sleep(pollMs, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
  }
}

async function create(path: string, me: Owner): Promise<boolean> {
  try {
    await writeFile(path, JSON.stringify(me), { flag: "wx" });
    return true;
  } catch (problem) {
    if ((problem as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw problem;
  }
}

function held(path: string, me: Owner, atOnce: boolean): Lock {
  const touching = setInterval(() => {
    const now = new Date();
    void utimes(path, now, now).catch(() => undefined); // If the lock was taken over, `isHeld` returns false.
  }, TOUCH_MS);
  touching.unref();
  const isHeld = async () => (await ownerOf(path))?.token === me.token;
  return {
    atOnce,
    isHeld,
    async release() {
      clearInterval(touching);
      if (await isHeld()) await rm(path, { force: true });
    },
  };
}

/** Remove the lock of `owner` by renaming it, so that only one window succeeds. */
async function takeAway(path: string, owner: Owner | undefined): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch {
    return; // Another window was first.
  }
  // Another window may have taken over in between: give its lock back.
  if ((await ownerOf(aside))?.token !== owner?.token) await rename(aside, path);
  else await rm(aside, { force: true });
}

async function stateOf(path: string): Promise<{ seen: string; owner: Owner | undefined } | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (!found) return undefined;
  const owner = await ownerOf(path);
  return { seen: `${owner?.token ?? ""} ${found.mtimeMs}`, owner };
}

/** Undefined if the file is gone or not yet written. */
async function ownerOf(path: string): Promise<Owner | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Owner;
  } catch {
    return undefined;
  }
}

/**
 * Whether the owner is known to have ended. If its process number was reused, the untouched file shows it.
 */
function isGone(owner: Owner | undefined): boolean {
  if (owner?.host !== hostname()) return false;
  try {
    process.kill(owner.pid, 0);
    return false;
  } catch (problem) {
    return (problem as NodeJS.ErrnoException).code === "ESRCH";
  }
}
