import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { takeLock } from "../../../src/finding/install_lock.ts";
import { temporaryFolder } from "./fixtures.ts";

void test("one after the other, never two at once", async (t) => {
  const path = join(await temporaryFolder(t), "lock");
  let inside = 0;
  let most = 0;
  const turns = Array.from({ length: 8 }, async () => {
    const lock = await takeLock(path, { pollMs: 1 });
    most = Math.max(most, ++inside);
    assert.equal(await lock.isHeld(), true);
    inside--;
    await lock.release();
    return lock.atOnce;
  });
  const atOnce = await Promise.all(turns);
  assert.equal(most, 1);
  assert.ok(atOnce.includes(true) && atOnce.includes(false));
  await assert.rejects(readFile(path), { code: "ENOENT" });
});

void test("the lock of a process that ended is taken over at once, by one only", async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, "lock");
  const child = spawn("true");
  await once(child, "exit");
  await writeFile(path, JSON.stringify({ host: hostname(), pid: child.pid, token: "theirs" }));
  const first = await takeLock(path, { pollMs: 60_000 });
  assert.equal(first.atOnce, true);

  const aborting = new AbortController();
  const second = takeLock(path, {
    pollMs: 60_000,
    signal: aborting.signal,
    onWait() {
      aborting.abort(new Error("it waits"));
    },
  });
  await assert.rejects(second, { message: "it waits" });
  assert.equal(await first.isHeld(), true);
  assert.deepEqual(await readdir(folder), ["lock"]);
  await first.release();
});

void test("an untouched lock is taken over, and its former owner notices", async (t) => {
  const path = join(await temporaryFolder(t), "lock");
  for (const text of [JSON.stringify({ host: "elsewhere", pid: 1, token: "theirs" }), ""]) {
    await writeFile(path, text);
    let waits = 0;
    const lock = await takeLock(path, { pollMs: 1, onWait: () => waits++ });
    assert.equal(waits, 1);
    assert.equal(await lock.isHeld(), true);
    await writeFile(path, JSON.stringify({ host: "elsewhere", pid: 1, token: "another's" }));
    assert.equal(await lock.isHeld(), false);
    await lock.release();
    assert.match(await readFile(path, "utf8"), /another's/); // what is not its own stays
  }
});
