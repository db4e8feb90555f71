// Asks the Python extension for the chosen environments, without waiting long.

import { access } from "node:fs/promises";
import { join } from "node:path";
import { Disposable, EventEmitter, extensions, workspace } from "vscode";

import {
  activatesByItself,
  chosenEnvironments,
  isPythonApi,
  type PythonApi,
  type PythonEnvironment,
} from "./python_environments.ts";

const EXTENSION = "ms-python.python";
/**
 * The extension looks for interpreters when it starts, which may take long. A late answer counts as a change.
 */
const WAIT_MS = 5_000;
/** The extension reports several changes while it starts. */
const COALESCE_MS = 500;

const answeredLate = new EventEmitter<undefined>();

/** The chosen environments; none if the extension is absent, slow, or not needed in this workspace. */
export async function pythonEnvironments(log: (line: string) => void): Promise<PythonEnvironment[]> {
  const answer = ask();
  const late = Symbol();
  let timer: NodeJS.Timeout | undefined;
  try {
    const first = await Promise.race([
      answer,
      new Promise<typeof late>((resolve) => (timer = setTimeout(resolve, WAIT_MS, late))),
    ]);
    if (first !== late) return first;
  } catch (problem) {
    log(`the Python extension could not be asked: ${String(problem)}`);
    return [];
  } finally {
    clearTimeout(timer);
  }
  log(`the Python extension did not answer within ${WAIT_MS / 1000} s; going on without`);
  answer.then(
    (found) => {
      if (found.length > 0) answeredLate.fire(undefined);
    },
    (problem: unknown) => {
      log(`the Python extension could not be asked: ${String(problem)}`);
    },
  );
  return [];
}

/**
 * Calls `listener` if another environment may have been chosen, once for several quick changes. That includes
 * the activation of the Python extension, which happens only when a workspace needs it.
 */
export function onDidChangePython(listener: () => void): Disposable {
  let pending: NodeJS.Timeout | undefined;
  let listening: Disposable | undefined;
  let disposed = false;
  const soon = () => {
    clearTimeout(pending);
    pending = setTimeout(listener, COALESCE_MS);
  };
  /** Whether it listens from now on. */
  const listen = async (): Promise<boolean> => {
    if (listening) return false;
    const api = await connect().catch(() => undefined); // Requesting the environments reports the error.
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- both may have changed meanwhile
    if (!api || listening || disposed) return false;
    listening = api.environments.onDidChangeActiveEnvironmentPath(soon);
    return true;
  };
  const listenLate = async () => {
    if (await listen()) soon();
  };
  void listen();
  const others = [
    answeredLate.event(soon),
    extensions.onDidChange(listenLate),
    workspace.onDidOpenTextDocument(({ languageId }) => {
      if (languageId === "python") void listenLate();
    }),
  ];
  return new Disposable(() => {
    disposed = true;
    clearTimeout(pending);
    listening?.dispose();
    for (const other of others) other.dispose();
  });
}

async function ask(): Promise<PythonEnvironment[]> {
  const api = await connect();
  if (!api) return [];
  return chosenEnvironments(
    api,
    fileFolders().map((folder) => folder.uri),
  );
}

/** The extension's interface, if it is active or about to be. It is not activated for this. */
async function connect(): Promise<PythonApi | undefined> {
  const extension = extensions.getExtension<unknown>(EXTENSION);
  if (!extension) return undefined;
  if (!extension.isActive) {
    const { activationEvents = [] } = extension.packageJSON as { activationEvents?: string[] };
    const languages = new Set(workspace.textDocuments.map((document) => document.languageId));
    if (!(await activatesByItself(activationEvents, languages, isInWorkspace))) return undefined;
  }
  const exported = await extension.activate();
  return isPythonApi(exported) ? exported : undefined;
}

async function isInWorkspace(name: string): Promise<boolean> {
  const looks = fileFolders().map((folder) =>
    access(join(folder.uri.fsPath, name)).then(
      () => true,
      () => false,
    ),
  );
  return (await Promise.all(looks)).some(Boolean);
}

function fileFolders() {
  return (workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
}
