// The life of the server's process: found, started, watched, started again when it crashed.

import { homedir } from "node:os";
import {
  type Disposable,
  type Event,
  EventEmitter,
  type ExtensionContext,
  type LogOutputChannel,
} from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  State,
} from "vscode-languageclient/node";

import { Api } from "./api.ts";
import { findServer, FindingError, type FoundServer } from "./finding/find_server.ts";
import { pythonEnvironment } from "./finding/surroundings.ts";
import { messageOf } from "./problem.ts";
import { serverSettings } from "./settings.ts";
import { describe, type Health } from "./status_text.ts";

export type { Health };

const RESTARTS = 3;
/** A server that crashed more often than RESTARTS times in this long is left alone until somebody asks for it. */
const RESTARTS_WITHIN_MS = 3 * 60_000;
/** Settings come one by one while somebody edits them; one restart is enough for all. */
const COALESCE_MS = 500;

export class Server implements Disposable {
  readonly #context: ExtensionContext;
  readonly #log: LogOutputChannel;
  readonly #healthChanged = new EventEmitter<Health>();
  /** Starts and stops, one after the other. */
  #turn: Promise<void> = Promise.resolve();
  #client: LanguageClient | undefined;
  #api: Api | undefined;
  #found: FoundServer | undefined;
  #health: Health = { state: "stopped" };
  #crashes: number[] = [];
  #pendingRestart: NodeJS.Timeout | undefined;

  readonly onDidChangeHealth: Event<Health> = this.#healthChanged.event;

  constructor(context: ExtensionContext, log: LogOutputChannel) {
    this.#context = context;
    this.#log = log;
  }

  get health(): Health {
    return this.#health;
  }

  /** Which command serves, once one was found. */
  get found(): FoundServer | undefined {
    return this.#found;
  }

  /** What to ask; undefined while nothing serves. */
  get api(): Api | undefined {
    return this.#health.state === "running" ? this.#api : undefined;
  }

  /** Why there is nothing to ask, for somebody who tried. */
  whyNot(): string {
    const { detail } = describe(this.#health);
    return `Cairn cannot answer now: ${detail || "it is starting…"}`;
  }

  start(): Promise<void> {
    return this.#inTurn(() => this.#start());
  }

  /** Stop and start anew, with the server that is found now. */
  restart(): Promise<void> {
    clearTimeout(this.#pendingRestart);
    return this.#inTurn(async () => {
      await this.#stop();
      this.#crashes = [];
      await this.#start();
    });
  }

  /** `restart`, once for all that is asked soon after each other. */
  restartSoon(why: string): void {
    clearTimeout(this.#pendingRestart);
    this.#pendingRestart = setTimeout(() => {
      this.#log.info(`restarting: ${why}`);
      void this.restart();
    }, COALESCE_MS);
  }

  /** Start anew if another server is found now than the one that serves. */
  async lookAgain(): Promise<void> {
    try {
      const found = await findServer(this.#context, this.#log);
      if (found?.command !== this.#found?.command) this.restartSoon("another server was found");
    } catch (problem) {
      this.#log.warn(String(problem)); // the setting is wrong; whoever starts the server is told
    }
  }

  stop(): Promise<void> {
    clearTimeout(this.#pendingRestart);
    return this.#inTurn(() => this.#stop());
  }

  dispose(): void {
    clearTimeout(this.#pendingRestart);
    this.#healthChanged.dispose();
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(work);
    return this.#turn;
  }

  async #start(): Promise<void> {
    if (this.#client) return;
    this.#become({ state: "starting" });
    try {
      this.#found = await findServer(this.#context, this.#log);
      if (!this.#found) {
        this.#become({ state: "missing" });
        return;
      }
      this.#log.info(`starting ${this.#found.command} (found by: ${this.#found.from})`);
      this.#client = this.#makeClient(this.#found);
      const api = (this.#api = new Api(this.#client));
      // Once: what is registered here outlives crashes of the process.
      api.onStatusChanged((status) => {
        if (api === this.#api) this.#become({ state: "running", status });
      });
      await this.#client.start();
    } catch (problem) {
      await this.#stop();
      const message = messageOf(problem);
      this.#log.error(message);
      if (problem instanceof FindingError) this.#become({ state: "failed", message });
      else {
        const command = this.#found?.command ?? "the server";
        this.#become({
          state: "crashed",
          message: `${command} could not be started as a server: ${message}`,
        });
      }
    }
  }

  async #stop(): Promise<void> {
    const client = this.#client;
    this.#client = this.#api = undefined;
    this.#become({ state: "stopped" });
    try {
      await client?.dispose();
    } catch (problem) {
      this.#log.warn(`stopping: ${String(problem)}`); // it had crashed, or did not answer in time and was killed
    }
  }

  #makeClient(found: FoundServer): LanguageClient {
    const run = {
      command: found.command,
      args: ["lsp"],
      // Never the workspace: nothing that lies there may be picked up instead of what was meant.
      options: { cwd: homedir(), env: pythonEnvironment({ env: process.env }) },
    };
    const client = new QuietClient("cairn", "Cairn", { run, debug: run }, this.#clientOptions());
    client.onDidChangeState(({ newState }) => {
      if (client !== this.#client) return;
      if (newState === State.Running) this.#running();
      else if (newState === State.Starting) {
        this.#become({ state: this.#crashes.length > 0 ? "restarting" : "starting" });
      }
    });
    return client;
  }

  #clientOptions(): LanguageClientOptions {
    return {
      documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
      initializationOptions: () => serverSettings(this.#context),
      outputChannel: this.#log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => this.#closed(),
      },
      initializationFailedHandler: () => false,
      middleware: {
        workspace: {
          // The server asks for its section; it gets what was set there, and none of the extension's own settings.
          configuration: (params) => params.items.map(() => serverSettings(this.#context)),
        },
      },
    };
  }

  #running(): void {
    const api = this.#api;
    if (!api) return;
    this.#become({ state: "running", status: undefined });
    void api.status().then(
      (status) => {
        if (api === this.#api) this.#become({ state: "running", status });
      },
      (problem: unknown) => {
        this.#log.warn(`no status: ${String(problem)}`);
      },
    );
  }

  /** The process is gone without having been told to go. */
  #closed() {
    // One that never answered is not tried again: `start` says why.
    if (!this.#client || this.#health.state === "starting") {
      return { action: CloseAction.DoNotRestart, handled: true };
    }
    const now = Date.now();
    this.#crashes = [...this.#crashes.filter((at) => now - at < RESTARTS_WITHIN_MS), now];
    if (this.#crashes.length <= RESTARTS) {
      this.#log.warn("the server is gone; starting it again");
      this.#become({ state: "restarting" });
      return { action: CloseAction.Restart, handled: true };
    }
    this.#log.error(`the server went ${this.#crashes.length} times within minutes; it is left alone`);
    const client = this.#client;
    this.#client = this.#api = undefined;
    void client.dispose().catch(() => undefined);
    this.#become({ state: "crashed", message: "Cairn's server crashed several times." });
    return { action: CloseAction.DoNotRestart, handled: true };
  }

  #become(health: Health): void {
    this.#health = health;
    this.#healthChanged.fire(health);
  }
}

/** Writes into the log what goes wrong; what somebody is to be told of it, `trouble.ts` tells once. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** Whether a change of settings needs another process; all others the server takes in while it runs. */
export function needsRestart(event: { affectsConfiguration(section: string): boolean }): boolean {
  return event.affectsConfiguration("cairn.path");
}
