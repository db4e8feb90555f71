// A lock file, so that of two windows only one makes an environment. It outlives nobody: a lock whose owner ended, or
// shows no life, is taken over.

import { randomUUID } from "node:crypto";
import { readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

export interface LockOptions {
  /** How often to look whether the lock is free. */
  readonly pollMs?: number;
  readonly signal?: AbortSignal;
  /** Called once if another has the lock. */
  readonly onWait?: () => void;
}

export interface Lock {
  /** Whether there was nobody to wait for. */
  readonly atOnce: boolean;
  /** Whether it is still held: a computer may have slept for longer than others wait. */
  isHeld(): Promise<boolean>;
  release(): Promise<void>;
}

interface Owner {
  readonly host: string;
  readonly pid: number;
  readonly token: string;
}

const POLL_MS = 1_000;
/** The owner touches the file this often; it may be on another computer with the same home folder. */
const TOUCH_MS = 5_000;
/**
 * After so many looks at an untouched file its owner counts as gone. Looks are counted, not seconds: while a computer
 * sleeps, neither the owner nor those who wait get on.
 */
const LOOKS = 60;

/** Rejects with `signal`'s reason when that aborts. */
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
    void utimes(path, now, now).catch(() => undefined); // taken over: `isHeld` tells
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

/** Remove the lock of `owner`. A rename, because only one of those who try succeeds with it. */
async function takeAway(path: string, owner: Owner | undefined): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch {
    return; // somebody else was first
  }
  // Between the look and the rename another may have taken over and made a lock of its own: that goes back.
  if ((await ownerOf(aside))?.token !== owner?.token) await rename(aside, path);
  else await rm(aside, { force: true });
}

async function stateOf(path: string): Promise<{ seen: string; owner: Owner | undefined } | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (!found) return undefined;
  const owner = await ownerOf(path);
  return { seen: `${owner?.token ?? ""} ${found.mtimeMs}`, owner };
}

/** Undefined where the file is gone or not yet written. */
async function ownerOf(path: string): Promise<Owner | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Owner;
  } catch {
    return undefined;
  }
}

/** Whether the owner is known to have ended. That its number is in use again shows by the untouched file. */
function isGone(owner: Owner | undefined): boolean {
  if (owner?.host !== hostname()) return false;
  try {
    process.kill(owner.pid, 0);
    return false;
  } catch (problem) {
    return (problem as NodeJS.ErrnoException).code === "ESRCH";
  }
}
