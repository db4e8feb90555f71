import assert from "node:assert/strict";
import { test } from "node:test";
import type { Uri } from "vscode";

import {
  activatesByItself,
  chosenEnvironments,
  isPythonApi,
  type PythonApi,
} from "../../../src/finding/python_environments.ts";

const uri = (fsPath: string) => ({ fsPath }) as unknown as Uri;

type Resolved = Awaited<ReturnType<PythonApi["environments"]["resolveEnvironment"]>>;

/** The Python extension's interface, with the environment chosen for each folder, and what is known of it. */
function api(chosen: Record<string, string>, known: Record<string, Resolved>): PythonApi {
  return {
    environments: {
      getActiveEnvironmentPath(folder) {
        const path = chosen[folder?.fsPath ?? ""] ?? "";
        return { id: path, path };
      },
      resolveEnvironment: ({ id }) => Promise.resolve(known[id]),
      onDidChangeActiveEnvironmentPath: () => {
        throw new Error("no listener expected");
      },
    },
  };
}

const venv = {
  executable: { uri: uri("/app/.venv/bin/python"), sysPrefix: "/app/.venv" },
  environment: undefined,
};
const conda = {
  executable: { uri: undefined, sysPrefix: "" },
  environment: { folderUri: uri("/conda/envs/bare") },
};

void test("each folder's environment once, and those that cannot be resolved not at all", async () => {
  const python = api({ "/app": "a", "/lib": "a", "/docs": "b", "/broken": "c" }, { a: venv, b: conda });
  const folders = ["/app", "/lib", "/broken", "/docs"].map(uri);
  assert.deepEqual(await chosenEnvironments(python, folders), [
    { prefix: "/app/.venv", python: "/app/.venv/bin/python" },
    { prefix: "/conda/envs/bare", python: undefined },
  ]);
});

void test("without a folder, the environment chosen without one", async () => {
  const found = await chosenEnvironments(api({ "": "a" }, { a: venv }), []);
  assert.deepEqual(found.map(({ prefix }) => prefix), ["/app/.venv"]); // prettier-ignore
});

void test("an older extension's interface is recognised", () => {
  assert.equal(isPythonApi(api({}, {})), true);
  assert.equal(isPythonApi({ settings: {} }), false);
  assert.equal(isPythonApi(undefined), false);
});

void test("an extension activates for a file or a document, not for a command or a pattern", async () => {
  const events = [
    "onCommand:python.x",
    "onLanguage:python",
    "workspaceContains:pyproject.toml",
    "workspaceContains:**/*.py",
  ];
  const asked: string[] = [];
  const has = (there: string) => (name: string) => {
    asked.push(name);
    return Promise.resolve(name === there);
  };
  assert.equal(await activatesByItself(events, new Set(["python"]), has("")), true);
  assert.equal(await activatesByItself(events, new Set(["rust"]), has("pyproject.toml")), true);
  assert.equal(await activatesByItself(events, new Set(["rust"]), has("Cargo.toml")), false);
  assert.ok(asked.every((name) => name === "pyproject.toml"));
  assert.equal(await activatesByItself(["*"], new Set(), has("")), true);
});
