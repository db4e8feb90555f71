// Requests of views: a signal cancels them, and the view shows progress if they take long.

import { type CancellationToken, CancellationTokenSource, window } from "vscode";

/** Faster answers need no progress indicator. */
const BUSY_AFTER_MS = 400;

/** A token that is cancelled when the signal aborts. */
export function tokenOf(signal: AbortSignal | undefined): CancellationToken {
  const cancelling = new CancellationTokenSource();
  signal?.addEventListener("abort", () => {
    cancelling.cancel();
  });
  return cancelling.token;
}

/** Show progress in a view until the request is answered or aborted. */
export async function withProgressIn<T>(viewId: string, asking: Promise<T>, signal: AbortSignal): Promise<T> {
  const settled = Promise.race([asking.catch(() => undefined), aborted(signal)]);
  const slow = setTimeout(() => {
    void window.withProgress({ location: { viewId } }, () => settled);
  }, BUSY_AFTER_MS);
  try {
    return await asking;
  } finally {
    clearTimeout(slow);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => {
      resolve();
    });
  });
}
