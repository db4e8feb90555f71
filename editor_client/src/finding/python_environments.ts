// The part of the Python extension's interface that is used here: the chosen environments.

import type { Event, Uri } from "vscode";

export interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource?: Uri): EnvironmentPath;
    resolveEnvironment(environment: EnvironmentPath): Promise<ResolvedEnvironment | undefined>;
    readonly onDidChangeActiveEnvironmentPath: Event<unknown>;
  };
}

interface EnvironmentPath {
  readonly id: string;
  readonly path: string;
}

interface ResolvedEnvironment {
  readonly executable: { readonly uri: Uri | undefined; readonly sysPrefix: string | undefined };
  readonly environment: { readonly folderUri: Uri } | undefined;
}

export interface PythonEnvironment {
  readonly prefix: string;
  /** The interpreter; a Conda environment may have none. */
  readonly python: string | undefined;
}

/** Whether an extension exports the interface above; older versions do not. */
export function isPythonApi(exported: unknown): exported is PythonApi {
  const environments = (exported as Partial<PythonApi> | undefined)?.environments;
  return typeof environments?.getActiveEnvironmentPath === "function";
}

/** The environments chosen for `folders`, or without a folder; each once. */
export async function chosenEnvironments(
  api: PythonApi,
  folders: readonly Uri[],
): Promise<PythonEnvironment[]> {
  const chosen = new Map<string, EnvironmentPath>();
  for (const folder of folders.length > 0 ? folders : [undefined]) {
    const path = api.environments.getActiveEnvironmentPath(folder);
    chosen.set(path.id, path);
  }
  const resolved = await Promise.all(
    [...chosen.values()].map((path) => api.environments.resolveEnvironment(path)),
  );
  return resolved.flatMap((found) => {
    const prefix = found?.executable.sysPrefix ?? "";
    const folder = prefix || found?.environment?.folderUri.fsPath;
    return folder ? [{ prefix: folder, python: found?.executable.uri?.fsPath }] : [];
  });
}

/**
 * Whether an extension with these activation events activates by itself in this workspace: if a document of
 * its language is open, or one of its files exists. Patterns are ignored; `has` answers for a plain name.
 */
export async function activatesByItself(
  events: readonly string[],
  languages: ReadonlySet<string>,
  has: (name: string) => Promise<boolean>,
): Promise<boolean> {
  for (const event of events) {
    const [kind = "", what = ""] = event.split(/:(.*)/s);
    if (kind === "*" || kind === "onStartupFinished") return true;
    if (kind === "onLanguage" && (what === "" || languages.has(what))) return true;
    if (kind === "workspaceContains" && !/[*?{[]/.test(what) && (await has(what))) return true;
  }
  return false;
}
