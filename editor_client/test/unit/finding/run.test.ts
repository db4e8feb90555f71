import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { run, TimeoutError } from "../../../src/finding/run.ts";
import { program, temporaryFolder } from "./fixtures.ts";

const here = { cwd: tmpdir(), env: { PATH: process.env.PATH } };

/** Waits for the end of a process; a zombie counts as ended. */
async function ended(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
      if (/^\d+ \(.*\) Z/.test(await readFile(`/proc/${pid}/stat`, "utf8"))) return;
    } catch {
      return;
    }
    await sleep(20);
  }
}

void test("code, output and lines", async (t) => {
  const command = await program(
    join(await temporaryFolder(t), "some command"),
    'echo "$1"; printf b >&2; exit 3',
  );
  const lines: string[] = [];
  const result = await run(command, ["a  *"], { ...here, onLine: (line) => lines.push(line) });
  assert.deepEqual(result, { code: 3, output: "a  *\n" });
  assert.deepEqual(lines.sort(), ["a  *", "b"]);
});

void test("what cannot be started", async (t) => {
  const missing = join(await temporaryFolder(t), "missing");
  await assert.rejects(run(missing, [], here), { code: "ENOENT" });
});

void test(
  "after the timeout nothing is left, not even what ignores interrupts",
  { timeout: 20_000 },
  async (t) => {
    // A shell has what it starts in the background ignore interrupts.
    const command = await program(join(await temporaryFolder(t), "slow"), "sleep 300 & echo $!; wait");
    let child = 0;
    const running = run(command, [], { ...here, timeoutMs: 500, onLine: (line) => (child = Number(line)) });
    await assert.rejects(running, TimeoutError);
    assert.notEqual(child, 0);
    await ended(child);
  },
);

void test("a program that ignores the interrupt itself is killed", { timeout: 20_000 }, async (t) => {
  const command = await program(
    join(await temporaryFolder(t), "stubborn"),
    "trap '' INT TERM; echo $$; while :; do sleep 1; done",
  );
  const aborting = new AbortController();
  let pid = 0;
  const onLine = (line: string) => {
    pid = Number(line);
    aborting.abort(new Error("enough"));
  };
  await assert.rejects(run(command, [], { ...here, signal: aborting.signal, onLine }), { message: "enough" });
  await ended(pid);
});

void test(
  "a program that ended and left its output open does not hold up",
  { timeout: 20_000 },
  async (t) => {
    const command = await program(join(await temporaryFolder(t), "daemon"), "sleep 300 & exit 0");
    await assert.rejects(run(command, [], { ...here, timeoutMs: 300 }), TimeoutError);
  },
);

void test("nothing is started for who has already cancelled", async (t) => {
  const folder = await temporaryFolder(t);
  const command = await program(join(folder, "command"), `touch "${join(folder, "started")}"`);
  await assert.rejects(run(command, [], { ...here, signal: AbortSignal.abort(new Error("no")) }), {
    message: "no",
  });
  await assert.rejects(readFile(join(folder, "started")));
});
