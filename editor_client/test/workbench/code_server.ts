// code-server with the packaged extension, in its own process group, with its own home, settings and data.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

import { eventually } from "./eventually.ts";

const execute = promisify(execFile);
const CLIENT = join(import.meta.dirname, "..", "..");

/** What scripts/test-editor says: where the parts are that the tests run in. */
export const parts = {
  /** The script of axe-core. */
  axe: fromEnvironment("CAIRN_TEST_AXE"),
  browser: fromEnvironment("CAIRN_TEST_BROWSER"),
  codeServer: fromEnvironment("CAIRN_TEST_CODE_SERVER"),
  /** The `cairn` command. */
  command: fromEnvironment("CAIRN_TEST_COMMAND"),
};

/** Settings that avoid questions to the user, network access and noise. */
const QUIET_SETTINGS = {
  "chat.disableAIFeatures": true,
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  // As on a desktop; in a browser all is saved a second after it was typed.
  "files.autoSave": "off",
  "git.openRepositoryInParentFolders": "never",
  "remote.autoForwardPorts": false,
  "security.workspace.trust.banner": "never",
  "security.workspace.trust.startupPrompt": "never",
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "workbench.colorTheme": "Dark 2026",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
};
const NO_GALLERY = JSON.stringify({ serviceUrl: "http://127.0.0.1:9/", itemUrl: "http://127.0.0.1:9/" });

export interface CodeServerOptions {
  /** Of the machine, beside the user's, which keep it quiet. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Whether `cairn` is on the PATH; default true. */
  readonly onPath?: boolean;
  /** Whether folders are trusted from the start; default true. */
  readonly trusted?: boolean;
  /** The data folder of Cairn; a new one unless said. */
  readonly cairnData?: string;
}

export class CodeServer {
  readonly url: string;
  /** Where everything is written that this one writes; gone with it. */
  readonly folder: string;
  /** The data folder of Cairn. */
  readonly cairnData: string;
  readonly #process: ChildProcess;

  private constructor(url: string, folder: string, cairnData: string, process: ChildProcess) {
    this.url = url;
    this.folder = folder;
    this.cairnData = cairnData;
    this.#process = process;
  }

  static async start(options: CodeServerOptions = {}): Promise<CodeServer> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), "cairn-workbench-")));
    const cairnData = options.cairnData ?? join(folder, "cairn");
    const environment = await makeHome(folder, cairnData, options);
    const places = ["--user-data-dir", join(folder, "user"), "--extensions-dir", join(folder, "extensions")];
    const entry = join(parts.codeServer, "out", "node", "entry.js");
    const install = [entry, ...places, "--install-extension", await packaged(), "--force"];
    await execute(process.execPath, install, { env: environment });

    const address = `127.0.0.1:${await freePort()}`;
    const server = spawn(
      process.execPath,
      [
        entry,
        ...places,
        ...["--bind-addr", address, "--auth", "none"],
        ...["--disable-telemetry", "--disable-update-check"],
        ...((options.trusted ?? true) ? ["--disable-workspace-trust"] : []),
        // Otherwise extension hosts stay for three hours after the page is gone.
        ...["--reconnection-grace-time", "3"],
      ],
      // A process group of its own: everything that it starts is in it, too.
      { env: environment, detached: true, stdio: ["ignore", "pipe", "pipe"] },
    );
    const said: string[] = [];
    for (const stream of [server.stdout, server.stderr]) stream.on("data", (text) => said.push(String(text)));
    const started = new CodeServer(`http://${address}`, folder, cairnData, server);
    try {
      await eventually("code-server is up", async () => {
        if (server.exitCode !== null) throw new Error(said.join(""));
        return (await fetch(`${started.url}/healthz`)).ok;
      });
      return started;
    } catch (problem) {
      await started.stop();
      throw problem;
    }
  }

  /** The address of the workbench with a folder or a `.code-workspace` file open. */
  workbench(opened: string): string {
    const kind = opened.endsWith(".code-workspace") ? "workspace" : "folder";
    return `${this.url}/?${kind}=${encodeURIComponent(opened)}`;
  }

  /** The processes of `cairn lsp` that the extension has started. */
  daemons(): number[] {
    return processesOf(this.folder).filter((pid) => / lsp\s*$/.test(commandLine(pid)));
  }

  /** The state of a folder's index, as Cairn's command line tells it. */
  async indexState(folder: string): Promise<string> {
    const env = { ...process.env, CAIRN_DATA_DIR: this.cairnData };
    const { stdout } = await execute(parts.command, ["status", "--json", folder], { env });
    return (JSON.parse(stdout) as { state: string }).state;
  }

  /** What the extension's log says. */
  async log(): Promise<string> {
    const { stdout } = await execute("find", [join(this.folder, "user", "logs"), "-name", "Cairn.log"]);
    const texts = stdout.split("\n").filter(Boolean);
    return (await Promise.all(texts.map((path) => readFile(path, "utf8")))).join("\n");
  }

  /** End it with everything it has started; fails where something outlives that. */
  async stop(): Promise<void> {
    const ended = this.#process.exitCode === null ? once(this.#process, "exit") : undefined;
    this.#signal("SIGTERM");
    const group = "everything that code-server has started has ended";
    try {
      await ended;
      await eventually(group, () => processesOf(this.folder).length === 0);
    } finally {
      this.#signal("SIGKILL");
      await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
    }
  }

  #signal(signal: NodeJS.Signals): void {
    try {
      if (this.#process.pid) process.kill(-this.#process.pid, signal);
    } catch (problem) {
      if ((problem as NodeJS.ErrnoException).code !== "ESRCH") throw problem; // all have ended
    }
  }
}

function fromEnvironment(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run scripts/test-editor workbench`);
  return value;
}

/** A home without anything of the developer's; the environment in which it is home. */
async function makeHome(
  folder: string,
  data: string,
  options: CodeServerOptions,
): Promise<NodeJS.ProcessEnv> {
  const home = join(folder, "home");
  const user = join(folder, "user", "User");
  const machine = join(folder, "user", "Machine");
  for (const made of [data, home, user, machine]) await mkdir(made, { recursive: true });
  const trust = { "security.workspace.trust.enabled": !(options.trusted ?? true) };
  await writeFile(join(user, "settings.json"), JSON.stringify({ ...QUIET_SETTINGS, ...trust }));
  // For the workbench this machine is remote, and the user's machine settings do not apply.
  await writeFile(join(machine, "settings.json"), JSON.stringify(options.settings ?? {}));
  // The workbench takes the PATH that a login shell has, as on a user's machine.
  const profile = `PATH='${dirname(parts.command)}':"$PATH"\n`;
  if (options.onPath ?? true) await writeFile(join(home, ".profile"), profile);
  return {
    PATH: process.env.PATH,
    SHELL: "/bin/sh",
    HOME: home,
    LANG: "C.UTF-8",
    TMPDIR: tmpdir(),
    CAIRN_DATA_DIR: data,
    // A busy machine must not make the kill switch change what is answered, nor break off a part of a search.
    CAIRN_RETRIEVAL__KILL_SWITCH__AUTOMATIC: "false",
    CAIRN_SEARCH__LEG_DEADLINE_MS: "600000",
    EXTENSIONS_GALLERY: NO_GALLERY,
  };
}

async function packaged(): Promise<string> {
  const manifest = await readFile(join(CLIENT, "package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  const path = join(CLIENT, `cairn-${version}.vsix`);
  if (!existsSync(path)) throw new Error(`${path} is not there: run scripts/test-editor package`);
  return path;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Processes whose environment names the folder; none where the system does not tell (only Linux does). */
function processesOf(folder: string): number[] {
  if (!existsSync("/proc/self/environ")) return [];
  const ids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  return ids.filter((id) => readProcess(id, "environ").includes(folder)).map(Number);
}

function commandLine(pid: number): string {
  return readProcess(String(pid), "cmdline").replaceAll("\0", " ");
}

function readProcess(id: string, file: string): string {
  try {
    return readFileSync(join("/proc", id, file), "utf8");
  } catch {
    return ""; // it has ended meanwhile, or is another user's
  }
}
