// The composition of all parts.

import { type Disposable, type ExtensionContext, window, workspace } from "vscode";

import { ChangeView } from "./change/change_view.ts";
import { registerCommands } from "./commands.ts";
import { setKey } from "./context_keys.ts";
import { Discoveries } from "./discover/discovery.ts";
import { onDidChangePython } from "./finding/find_server.ts";
import { Palette } from "./palette/palette.ts";
import { ContextPanel } from "./panel/context_panel.ts";
import { needsRestart, Server } from "./server.ts";
import { showHealth } from "./status.ts";
import { showTroubles } from "./trouble.ts";

let server: Server | undefined;

export async function activate(context: ExtensionContext): Promise<void> {
  const log = window.createOutputChannel("Cairn", { log: true });
  const running = (server = new Server(context, log));
  const discoveries = new Discoveries(running);
  const palette = new Palette(running, context.workspaceState, ({ query, filter }) => {
    void discoveries.discover(query, filter.path);
  });
  const panel = new ContextPanel(context.extensionUri, running, log, context.globalState);
  const change = new ChangeView(running, context.globalState, context.workspaceState);
  context.subscriptions.push(
    log,
    running,
    discoveries,
    panel,
    change,
    ...panel.register(),
    ...change.register(),
    ...palette.register(),
    showHealth(running),
    showTroubles(running),
    ...registerCommands(context, running, palette, discoveries, log),
    ...restartWhereNeeded(running),
    tellWhetherPaused(running),
    // Changes while the window was in the background may have sent no notification.
    window.onDidChangeWindowState(({ focused }) => {
      if (focused) running.api?.refresh().catch(() => undefined);
    }),
  );
  await running.start();
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}

function restartWhereNeeded(running: Server): Disposable[] {
  return [
    workspace.onDidChangeConfiguration((event) => {
      if (needsRestart(event)) running.restartSoon("the settings changed");
    }),
    workspace.onDidGrantWorkspaceTrust(() => {
      running.restartSoon("the workspace is trusted now");
    }),
    onDidChangePython(() => void running.lookAgain()),
  ];
}

function tellWhetherPaused(running: Server): Disposable {
  return running.onDidChangeHealth((health) => {
    const paused = health.state === "running" && (health.status?.paused ?? false);
    setKey("paused", paused);
  });
}
