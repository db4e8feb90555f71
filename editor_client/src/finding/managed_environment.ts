// Installs the server into the extension's storage, at the user's request.

import {
  CancellationError,
  type CancellationToken,
  type ExtensionContext,
  type Progress,
  workspace,
} from "vscode";

import { bundleOf, type FoundServer, type Log, surroundingsNow } from "./find_server.ts";
import { install, InstallError } from "./install.ts";
import { environmentsFolder } from "./managed_folder.ts";
import { pythonEnvironments } from "./python_extension.ts";
import type { Surroundings } from "./surroundings.ts";

/**
 * Make the managed environment, or use the existing one. Output goes to the log, stages to `progress`. Throws
 * CancellationError, or an error whose message says what to do; nothing remains then.
 */
export async function installServer(
  context: ExtensionContext,
  log: Log,
  progress: Progress<{ message?: string }>,
  token: CancellationToken,
): Promise<FoundServer> {
  const bundle = await bundleOf(context);
  if (!bundle) {
    throw new InstallError(
      "This build of the extension has no server to install. Install it with pip install cairn-ls," +
        " and name its cairn command in the setting cairn.path.",
    );
  }
  const aborting = new AbortController();
  const cancel = () => {
    aborting.abort(new CancellationError());
  };
  if (token.isCancellationRequested) cancel();
  // If the editor closes, the installation ends.
  const ending = { dispose: cancel };
  context.subscriptions.push(ending);
  const cancelling = token.onCancellationRequested(cancel);
  try {
    const surroundings = withProxy(surroundingsNow((line) => { log.info(line); })); // prettier-ignore
    const chosen = await pythonEnvironments(surroundings.log);
    const installed = await install({
      bundle,
      environments: environmentsFolder(context.globalStorageUri.fsPath),
      chosenPythons: chosen.flatMap(({ python }) => python ?? []),
      surroundings,
      report: (message) => {
        log.info(message);
        progress.report({ message });
      },
      signal: aborting.signal,
    });
    return { ...installed, from: "managed" };
  } finally {
    cancelling.dispose();
    context.subscriptions.splice(context.subscriptions.indexOf(ending), 1);
  }
}

/** The editor's proxy, if the environment has none. */
function withProxy(surroundings: Surroundings): Surroundings {
  const { env } = surroundings;
  const proxy = workspace.getConfiguration("http").get<string>("proxy");
  const named = Object.keys(env).some((name) => name.toUpperCase() === "HTTPS_PROXY");
  return proxy && !named ? { ...surroundings, env: { ...env, HTTPS_PROXY: proxy } } : surroundings;
}
