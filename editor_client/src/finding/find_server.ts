// Where the `cairn` command is, for the editor as it is now.

import { homedir } from "node:os";
import { join } from "node:path";
import { type ExtensionContext, workspace } from "vscode";

import type { FoundServer } from "./found_server.ts";
import { completeServer, environmentsFolder, readBundle } from "./managed_folder.ts";
import { pythonEnvironments } from "./python_extension.ts";
import { findInOrder } from "./search_order.ts";
import type { Surroundings } from "./surroundings.ts";

export { FindingError, type FoundServer } from "./found_server.ts";
export { onDidChangePython } from "./python_extension.ts";

/** What finding needs of a log. */
export interface Log {
  info(line: string): void;
}

/**
 * The first of: the setting `cairn.path`, the Python extension's environment, the PATH, the managed environment.
 * Undefined where there is none. Throws FindingError where the setting names something that cannot be started.
 * The log gets a line for whatever was found and not used.
 */
export async function findServer(context: ExtensionContext, log?: Log): Promise<FoundServer | undefined> {
  const surroundings = surroundingsNow((line) => log?.info(line));
  return findInOrder(
    {
      setting: workspace.getConfiguration("cairn").get<unknown>("path"),
      pythonPrefixes: async () =>
        (await pythonEnvironments(surroundings.log)).map((environment) => environment.prefix),
      async managed() {
        const bundle = await bundleOf(context);
        if (!bundle) return undefined;
        const folder = join(environmentsFolder(context.globalStorageUri.fsPath), bundle.name);
        return completeServer(folder, surroundings.platform);
      },
    },
    surroundings,
  );
}

export function surroundingsNow(log: (line: string) => void): Surroundings {
  const folders = workspace.workspaceFolders ?? [];
  return {
    platform: process.platform,
    env: process.env,
    home: homedir(),
    trusted: workspace.isTrusted,
    folders: folders.filter(({ uri }) => uri.scheme === "file").map(({ uri }) => uri.fsPath),
    log,
  };
}

/** What the extension brings along to install from; undefined in one that was built without. */
export function bundleOf({ extension, extensionPath }: ExtensionContext) {
  const { version } = extension.packageJSON as { version: string };
  return readBundle(extensionPath, version);
}
