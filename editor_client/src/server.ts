// The server's process: finding, starting, watching, and restarting after a crash.

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
import { Lenses } from "./inline/lenses.ts";
import { messageOf } from "./problem.ts";
import { serverSettings } from "./settings.ts";
import { describe, type Health } from "./status_text.ts";

export type { Health };

const RESTARTS = 3;
/** After more than RESTARTS crashes within this time, only the user restarts the server. */
const RESTARTS_WITHIN_MS = 3 * 60_000;
/** The user changes settings one by one; one restart is enough for all. */
const COALESCE_MS = 500;

export class Server implements Disposable {
  readonly #context: ExtensionContext;
  readonly #log: LogOutputChannel;
  readonly #healthChanged = new EventEmitter<Health>();
  /** The queue of starts and stops. */
  #turn: Promise<void> = Promise.resolve();
  #client: LanguageClient | undefined;
  #api: Api | undefined;
  #found: FoundServer | undefined;
  #health: Health = { state: "stopped" };
  #crashes: number[] = [];
  #pendingRestart: NodeJS.Timeout | undefined;

  readonly onDidChangeHealth: Event<Health> = this.#healthChanged.event;
  readonly lenses = new Lenses(() => this.#client);

  constructor(context: ExtensionContext, log: LogOutputChannel) {
    this.#context = context;
    this.#log = log;
  }

  get health(): Health {
    return this.#health;
  }

  /** The command that was found. */
  get found(): FoundServer | undefined {
    return this.#found;
  }

  /** The API; undefined while no server runs. */
  get api(): Api | undefined {
    return this.#health.state === "running" ? this.#api : undefined;
  }

  /** Why no server runs, as a message. */
  whyNot(): string {
    const { detail } = describe(this.#health);
    return `Cairn cannot answer now: ${detail || "it is starting…"}`;
  }

  start(): Promise<void> {
    return this.#inTurn(() => this.#start());
  }

  /** Stop, find the server again, and start it. */
  restart(): Promise<void> {
    clearTimeout(this.#pendingRestart);
    return this.#inTurn(async () => {
      await this.#stop();
      this.#crashes = [];
      await this.#start();
    });
  }

  /** Restart once for several requests in quick succession. */
  restartSoon(why: string): void {
    clearTimeout(this.#pendingRestart);
    this.#pendingRestart = setTimeout(() => {
      this.#log.info(`restarting: ${why}`);
      void this.restart();
    }, COALESCE_MS);
  }

  /** Restart if a different server is found now. */
  async lookAgain(): Promise<void> {
    try {
      const found = await findServer(this.#context, this.#log);
      if (found?.command !== this.#found?.command) this.restartSoon("another server was found");
    } catch (problem) {
      this.#log.warn(String(problem)); // The setting is wrong. `start` reports it.
    }
  }

  stop(): Promise<void> {
    clearTimeout(this.#pendingRestart);
    return this.#inTurn(() => this.#stop());
  }

  dispose(): void {
    clearTimeout(this.#pendingRestart);
    this.#healthChanged.dispose();
    this.lenses.dispose();
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
      // Register once: registrations survive crashes of the process.
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
      this.#log.warn(`stopping: ${String(problem)}`); // It had crashed, or was killed after a timeout.
    }
  }

  #makeClient(found: FoundServer): LanguageClient {
    const run = {
      command: found.command,
      args: ["lsp"],
      // The server must not load code from the workspace.
      options: { cwd: homedir(), env: pythonEnvironment({ env: process.env }) },
    };
    const client = new QuietClient("cairn", "Cairn", { run, debug: run }, this.#clientOptions());
    client.onDidChangeState(({ newState }) => {
      if (client !== this.#client) return;
      if (newState === State.Running) this.#running();
      else if (newState === State.Starting) {
        this.#become({ state: this.#crashes.length > 0 ? "restarting" : "starting" });
      } else if (newState === State.StartFailed && this.#health.state === "restarting") {
        this.#become({ state: "crashed", message: "Cairn's server ended and could not be started again." });
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
        ...this.lenses.middleware,
        workspace: {
          // The server requests its section. It gets the values that the user set, without the extension's
          // own settings.
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

  /** The process ended unexpectedly. */
  #closed() {
    // A server that never answered is not restarted; `start` reports why.
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

/** Logs errors; `trouble.ts` shows them to the user once. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** Whether a change of settings needs a restart. The server applies all other changes while it runs. */
export function needsRestart(event: { affectsConfiguration(section: string): boolean }): boolean {
  return event.affectsConfiguration("cairn.path");
}
