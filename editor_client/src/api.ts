// The requests and notifications of Cairn's server. Only this module knows the names of its methods.

import { CancellationError, type CancellationToken, type Disposable } from "vscode";
import {
  type BaseLanguageClient,
  LSPErrorCodes,
  NotificationType,
  ProgressType,
  RequestType,
  RequestType0,
  ResponseError,
  type WorkDoneProgressBegin,
  type WorkDoneProgressReport,
} from "vscode-languageclient";

import type * as protocol from "./protocol.ts";

const methods = {
  search: new RequestType<protocol.SearchParams, protocol.SearchAnswer, void>("cairn/search"),
  related: new RequestType<protocol.RelatedParams, protocol.RelatedAnswer, void>("cairn/related"),
  references: new RequestType<protocol.ReferencesParams, protocol.ReferencesAnswer, void>("cairn/references"),
  context: new RequestType<protocol.ContextParams, protocol.ContextAnswer, void>("cairn/context"),
  change: new RequestType<protocol.ChangeParams, protocol.ChangeAnswer, void>("cairn/change"),
  discover: new RequestType<protocol.DiscoverParams & ProgressTokens, protocol.DiscoverAnswer, void>(
    "cairn/discover",
  ),
  symbols: new RequestType<{ query: string }, { name: string }[] | null, void>("workspace/symbol"),
  status: new RequestType0<protocol.StatusAnswer, void>("cairn/status"),
  reindex: new RequestType<protocol.ReindexParams, protocol.ReindexAnswer, void>("cairn/reindex"),
  pause: new RequestType0<unknown, void>("cairn/pause"),
  resume: new RequestType0<unknown, void>("cairn/resume"),
  execute: new RequestType<{ command: string; arguments: unknown[] }, unknown, void>(
    "workspace/executeCommand",
  ),
};
const feedback = new NotificationType<protocol.FeedbackParams>("cairn/feedback");
const statusChanged = new NotificationType<protocol.StatusAnswer>("cairn/statusChanged");
const workDone = new ProgressType<WorkDoneProgressBegin | WorkDoneProgressReport | { kind: "end" }>();

interface ProgressTokens {
  readonly workDoneToken?: string;
}

/** The progress of a discovery: the current stage, and the percentage done. */
export interface Stage {
  readonly message: string;
  readonly percentage: number;
}

let discoveries = 0;

export class Api {
  readonly #client: BaseLanguageClient;

  constructor(client: BaseLanguageClient) {
    this.#client = client;
  }

  search(params: protocol.SearchParams, token: CancellationToken): Promise<protocol.SearchAnswer> {
    return this.#client.sendRequest(methods.search, params, token);
  }

  related(params: protocol.RelatedParams): Promise<protocol.RelatedAnswer> {
    return this.#client.sendRequest(methods.related, params);
  }

  references(params: protocol.ReferencesParams): Promise<protocol.ReferencesAnswer> {
    return this.#client.sendRequest(methods.references, params);
  }

  context(params: protocol.ContextParams, token?: CancellationToken): Promise<protocol.ContextAnswer> {
    return this.#client.sendRequest(methods.context, params, token);
  }

  change(params: protocol.ChangeParams, token: CancellationToken): Promise<protocol.ChangeAnswer> {
    return this.#client.sendRequest(methods.change, params, token);
  }

  /** Calls `onStage` for each stage until the answer arrives. */
  async discover(
    params: protocol.DiscoverParams,
    token: CancellationToken,
    onStage: (stage: Stage) => void,
  ): Promise<protocol.DiscoverAnswer> {
    const workDoneToken = `cairn-discover-${++discoveries}`;
    const listening = this.#client.onProgress(workDone, workDoneToken, (value) => {
      if (value.kind !== "end") onStage({ message: value.message ?? "", percentage: value.percentage ?? 0 });
    });
    try {
      return await this.#client.sendRequest(methods.discover, { ...params, workDoneToken }, token);
    } finally {
      listening.dispose();
    }
  }

  /** The names of definitions in the most imported files, best first. */
  async importantNames(): Promise<string[]> {
    const symbols = (await this.#client.sendRequest(methods.symbols, { query: "" })) ?? [];
    return symbols.map(({ name }) => name);
  }

  status(): Promise<protocol.StatusAnswer> {
    return this.#client.sendRequest(methods.status);
  }

  reindex(params: protocol.ReindexParams): Promise<protocol.ReindexAnswer> {
    return this.#client.sendRequest(methods.reindex, params);
  }

  async pause(): Promise<void> {
    await this.#client.sendRequest(methods.pause);
  }

  async resume(): Promise<void> {
    await this.#client.sendRequest(methods.resume);
  }

  /** Make the server look for changes without notifications. */
  async refresh(): Promise<void> {
    await this.#client.sendRequest(methods.execute, { command: "cairn.refresh", arguments: [] });
  }

  /** Delete the record of opened results, and return its size. */
  async resetFeedback(): Promise<number> {
    const request = { command: "cairn.resetFeedback", arguments: [] };
    return ((await this.#client.sendRequest(methods.execute, request)) as protocol.ResetFeedbackAnswer)
      .forgotten;
  }

  /** Report what the user did with a result of `query`. */
  tellFeedback(query: string, result: protocol.SearchResult, action: protocol.FeedbackAction): void {
    if (!query.trim()) return;
    const { contentHash, path, folder } = result;
    void this.#client.sendNotification(feedback, { query, contentHash, action, path, folder });
  }

  onStatusChanged(listener: (status: protocol.StatusAnswer) => void): Disposable {
    return this.#client.onNotification(statusChanged, listener);
  }
}

/** Whether a request was cancelled. */
export function isCancelled(problem: unknown): boolean {
  if (problem instanceof CancellationError) return true;
  const codes: number[] = [LSPErrorCodes.RequestCancelled, LSPErrorCodes.ServerCancelled];
  return problem instanceof ResponseError && codes.includes(problem.code);
}
