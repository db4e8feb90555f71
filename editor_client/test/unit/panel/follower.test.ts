import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import {
  Follower,
  INDEXED_MS,
  MOVED_MS,
  type Outcome,
  type Place,
  TYPED_MS,
} from "../../../src/panel/follower.ts";

interface Answer {
  place: { range: Place["selection"] };
  index: { generation: number };
}

interface Asked {
  place: Place;
  signal: AbortSignal;
  answer: (answer?: Answer) => Promise<void>;
  fail: (problem: Error) => Promise<void>;
}

let asked: Asked[];
let shown: (Outcome<Answer> | undefined)[];
let follower: Follower<Answer>;

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout"] });
  asked = [];
  shown = [];
  follower = new Follower<Answer>({
    ask: (place, signal) => {
      let resolve!: (answer: Answer) => void;
      let reject!: (problem: Error) => void;
      const promise = new Promise<Answer>((...both) => {
        [resolve, reject] = both;
      });
      asked.push({
        place,
        signal,
        answer: async (answer = around(place)) => {
          resolve(answer);
          await settled();
        },
        fail: async (problem) => {
          reject(problem);
          await settled();
        },
      });
      return promise;
    },
    show: (outcome) => shown.push(outcome),
  });
});

afterEach(() => {
  follower.dispose();
  mock.timers.reset();
});

void test("asks once the cursor rests", () => {
  start();
  follower.follow(at(1));
  mock.timers.tick(MOVED_MS - 1);
  follower.follow(at(20));
  mock.timers.tick(MOVED_MS - 1);
  assert.equal(asked.length, 0);
  mock.timers.tick(1);
  assert.deepEqual(lines(), [20]);
});

void test("waits longer while the user types", () => {
  start();
  follower.follow(at(1));
  mock.timers.tick(MOVED_MS);
  follower.follow(at(1, { version: 2 }));
  follower.follow(at(2, { version: 2 })); // the cursor, which typing moved
  mock.timers.tick(TYPED_MS - 1);
  assert.equal(asked.length, 1);
  mock.timers.tick(1);
  assert.equal(asked.length, 2);
});

void test("another document is asked about soon, whatever was typed before", () => {
  start();
  follower.follow(at(1));
  follower.follow(at(1, { version: 2 }));
  follower.follow(at(1, { uri: "file:///other.py" }));
  mock.timers.tick(MOVED_MS);
  assert.deepEqual(
    asked.map(({ place }) => place.uri),
    ["file:///other.py"],
  );
});

void test("a new question cancels the one before, whose answer is not shown", async () => {
  start();
  await askAbout(at(1), false);
  await askAbout(at(50), false);
  assert.deepEqual(
    asked.map(({ signal }) => signal.aborted),
    [true, false],
  );
  await asked[0]?.answer();
  assert.deepEqual(shown, []);
  await asked[1]?.answer();
  assert.equal(shown.length, 1);
});

void test("what happens without a move leaves the running question alone", async () => {
  start();
  await askAbout(at(1), false);
  follower.follow(at(1));
  mock.timers.tick(TYPED_MS);
  assert.equal(asked.length, 1);
  assert.equal(asked[0]?.signal.aborted, false);
});

void test("nothing is asked within the place that is shown", async () => {
  start();
  await askAbout(at(12));
  for (const line of [10, 15, 19]) {
    follower.follow(at(line));
    mock.timers.tick(TYPED_MS);
  }
  assert.equal(asked.length, 1);
  follower.follow(at(20)); // the range's end is exclusive
  mock.timers.tick(MOVED_MS);
  assert.deepEqual(lines(), [12, 20]);
});

void test("coming back to the place that is shown cancels what was asked meanwhile", async () => {
  start();
  await askAbout(at(12));
  await askAbout(at(50), false);
  follower.follow(at(13));
  assert.equal(asked[1]?.signal.aborted, true);
  mock.timers.tick(TYPED_MS);
  assert.equal(asked.length, 2);
});

void test("a changed document, another one, and selected lines are other places", async () => {
  start();
  await askAbout(at(12));
  await askAbout(at(12, { version: 2 }));
  await askAbout(at(12, { uri: "file:///other.py" }));
  await askAbout(at(12, { uri: "file:///other.py", until: 14 }));
  await askAbout(at(12, { uri: "file:///other.py", until: 15 }));
  assert.equal(asked.length, 5);
  follower.follow(at(12, { uri: "file:///other.py", until: 15 }));
  mock.timers.tick(TYPED_MS);
  assert.equal(asked.length, 5);
});

void test("nothing is asked while the view is hidden, and it catches up at once", () => {
  follower.setServing(true);
  follower.follow(at(1));
  mock.timers.tick(TYPED_MS);
  assert.equal(asked.length, 0);
  follower.setVisible(true);
  assert.deepEqual(lines(), [1]);
});

void test("hiding cancels; showing again asks only where the answer does not stand any more", async () => {
  start();
  await askAbout(at(12));
  await askAbout(at(50), false);
  follower.setVisible(false);
  assert.equal(asked[1]?.signal.aborted, true);
  follower.follow(at(13));
  follower.setVisible(true);
  assert.equal(asked.length, 2);
  follower.setVisible(false);
  follower.follow(at(70));
  mock.timers.tick(TYPED_MS);
  assert.equal(asked.length, 2);
  follower.setVisible(true);
  assert.deepEqual(lines(), [12, 50, 70]);
});

void test("nothing is asked while no server answers; a new one is asked anew", async () => {
  follower.setVisible(true);
  follower.follow(at(1));
  mock.timers.tick(MOVED_MS);
  assert.equal(asked.length, 0);
  follower.setServing(true);
  await asked[0]?.answer();
  follower.setServing(false);
  follower.setServing(true);
  assert.equal(asked.length, 2);
});

void test("an index that changes again and again is asked once in a while", async () => {
  start();
  await askAbout(at(1));
  follower.indexChanged(7);
  mock.timers.tick(INDEXED_MS);
  assert.equal(asked.length, 1, "the answer was made with this generation");
  for (let generation = 8; generation < 18; generation++) {
    follower.indexChanged(generation);
    mock.timers.tick(INDEXED_MS / 10);
  }
  assert.equal(asked.length, 2);
});

void test("a place that could not be answered is asked again when the index has changed", async () => {
  start();
  follower.indexChanged(7);
  await askAbout(at(1), false);
  await asked[0]?.fail(new Error("not indexed"));
  assert.ok(shown[0] && "problem" in shown[0]);
  follower.follow(at(1));
  mock.timers.tick(TYPED_MS);
  assert.equal(asked.length, 1);
  follower.indexChanged(8);
  mock.timers.tick(INDEXED_MS);
  assert.equal(asked.length, 2);
});

void test("pinned, it stays until it is unpinned, and refreshes where it is pinned", async () => {
  start();
  await askAbout(at(12));
  follower.follow(at(15));
  assert.equal(follower.pin(), true);
  assert.equal(asked.length, 1, "the place that is shown holds the cursor");
  follower.follow(at(50));
  follower.follow(at(50, { version: 2 }));
  follower.indexChanged(8);
  mock.timers.tick(INDEXED_MS);
  assert.equal(asked.length, 1);
  follower.refresh();
  assert.deepEqual(lines(), [12, 12]);
  await asked[1]?.answer();
  follower.unpin();
  assert.deepEqual(lines(), [12, 12, 50]);
});

void test("pinning before there is an answer asks for the place at once", async () => {
  start();
  follower.follow(at(30));
  assert.equal(follower.pin(), true);
  follower.follow(at(80));
  mock.timers.tick(TYPED_MS);
  assert.deepEqual(lines(), [30]);
  await asked[0]?.answer();
  assert.equal(shown.length, 1);
});

void test("another pinned place is an entry of the history, which keeps the answers", async () => {
  start();
  await askAbout(at(12));
  follower.pin();
  follower.pinTo(at(50));
  await asked[1]?.answer();
  assert.deepEqual(follower.history, { canGoBack: true, canGoForward: false });
  assert.equal(follower.move("back"), true);
  assert.equal(follower.outcome?.place.selection.end.line, 12);
  assert.deepEqual(follower.history, { canGoBack: false, canGoForward: true });
  assert.equal(follower.move("back"), false);
  assert.equal(follower.move("forward"), true);
  assert.equal(follower.outcome.place.selection.end.line, 50);
  assert.deepEqual(lines(), [12, 50], "nothing was asked again");
});

void test("a place that was left before its answer is asked again on the way back", async () => {
  start();
  await askAbout(at(12));
  follower.pin();
  follower.pinTo(at(50));
  follower.pinTo(at(70));
  assert.equal(asked[1]?.signal.aborted, true);
  await asked[2]?.answer();
  follower.move("back");
  assert.equal(follower.settled, false);
  assert.deepEqual(lines(), [12, 50, 70, 50]);
  await asked[3]?.answer();
  assert.equal(follower.settled, true);
});

void test("another place in the pinned passage adds no entry, and shows what the index has now", async () => {
  start();
  await askAbout(at(12));
  follower.pin();
  follower.pinTo(at(14));
  assert.equal(follower.history?.canGoBack, false);
  assert.equal(asked.length, 1);
  follower.indexChanged(8);
  follower.pinTo(at(14));
  assert.equal(follower.history.canGoBack, false);
  assert.deepEqual(lines(), [12, 12]);
});

void test("unpinning ends the history", async () => {
  start();
  await askAbout(at(12));
  follower.pin();
  follower.pinTo(at(50));
  follower.unpin();
  assert.equal(follower.history, undefined);
  follower.pin();
  assert.deepEqual(follower.history, { canGoBack: false, canGoForward: false });
});

void test("without a server, another pinned place does not show the former one's passages", async () => {
  start();
  await askAbout(at(12));
  follower.pin();
  follower.setServing(false);
  const shownLine = () => follower.outcome?.place.selection.end.line;
  follower.pinTo(at(50));
  assert.equal(shownLine(), undefined);
  follower.move("back");
  assert.equal(shownLine(), 12);
});

void test("a pinned answer outlives its document and its server", async () => {
  start();
  await askAbout(at(12));
  follower.pin();
  follower.follow(undefined);
  follower.setServing(false);
  follower.setServing(true);
  mock.timers.tick(TYPED_MS);
  assert.equal(asked.length, 1);
  assert.ok(follower.outcome && "answer" in follower.outcome);
});

void test("without a document there is nothing to pin, and after a moment nothing shown", async () => {
  start();
  assert.equal(follower.pin(), false);
  await askAbout(at(12));
  follower.follow(undefined);
  follower.follow(at(12)); // from one editor to another, for a moment none is active
  mock.timers.tick(TYPED_MS);
  assert.equal(shown.length, 1);
  follower.follow(undefined);
  mock.timers.tick(MOVED_MS);
  assert.equal(shown.at(-1), undefined);
  assert.equal(follower.outcome, undefined);
});

function start(): void {
  follower.setServing(true);
  follower.setVisible(true);
}

/** Have the cursor rest at a place, and the question answered. */
async function askAbout(place: Place, answered = true): Promise<void> {
  follower.follow(place);
  mock.timers.tick(TYPED_MS);
  if (answered) await asked.at(-1)?.answer();
}

function lines(): number[] {
  return asked.map(({ place }) => place.selection.end.line);
}

function at(line: number, { uri = "file:///app.py", version = 1, until = line } = {}): Place {
  return {
    uri,
    version,
    selection: { start: { line, character: 4 }, end: { line: until, character: 4 } },
  };
}

/** An answer about the ten lines around a place. */
function around({ selection }: Place): Answer {
  const first = Math.floor(selection.end.line / 10) * 10;
  return {
    place: { range: { start: { line: first, character: 0 }, end: { line: first + 10, character: 0 } } },
    index: { generation: 7 },
  };
}

/** Until promises that are resolved were heard of. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
