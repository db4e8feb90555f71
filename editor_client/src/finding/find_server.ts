// Finds the `cairn` command in the current state of the editor.

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

/** The part of a log that finding needs. */
export interface Log {
  info(line: string): void;
}

/**
 * The first of: the setting `cairn.path`, the Python extension's environment, the PATH, the managed
 * environment. Undefined if there is none. Throws FindingError if the setting names something that cannot be
 * started. The log gets a line for each candidate that is not used.
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

/** The packaged server to install; undefined in a build without one. */
export function bundleOf({ extension, extensionPath }: ExtensionContext) {
  const { version } = extension.packageJSON as { version: string };
  return readBundle(extensionPath, version);
}
