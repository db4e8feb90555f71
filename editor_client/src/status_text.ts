// Cairn's state in words.

import type { StatusAnswer } from "./protocol.ts";

/** The state of the server's process; `status` is the server's own report, once it has one. */
export type Health =
  | { readonly state: "stopped" | "starting" | "restarting" | "missing" }
  | { readonly state: "running"; readonly status: StatusAnswer | undefined }
  | { readonly state: "crashed" | "failed"; readonly message: string };

export interface Description {
  readonly text: string;
  readonly detail: string;
  readonly busy: boolean;
  readonly severity: "error" | "warning" | "information";
}

export interface Line {
  readonly icon: string;
  readonly label: string;
  readonly value: string;
  readonly detail?: string;
}

const ACTIVITIES: Readonly<Record<string, string>> = {
  checking: "Checking the index",
  scanning: "Looking for files",
  reading: "Reading files",
  static: "Making first vectors",
  history: "Reading the history",
  counting: "Counting imports",
  embedding: "Making vectors",
  tidying: "Tidying up",
};

export function describe(health: Health): Description {
  switch (health.state) {
    case "starting":
    case "restarting":
      return { ...FINE, text: "Cairn", detail: `${health.state}…`, busy: true };
    case "missing":
      return { ...FINE, text: "Cairn", detail: "the server is not installed", severity: "error" };
    case "stopped":
      return { ...FINE, text: "Cairn", detail: "stopped", severity: "warning" };
    case "crashed":
    case "failed":
      return { ...FINE, text: "Cairn", detail: health.message, severity: "error" };
    case "running":
      return health.status
        ? describeStatus(health.status)
        : { ...FINE, text: "Cairn", detail: "", busy: true };
  }
}

const FINE = { busy: false, severity: "information" } as const;

function describeStatus(status: StatusAnswer): Description {
  const problem = status.lastError ?? status.warnings[0];
  return {
    text: `Cairn: ${stateInWords(status)}`,
    detail: problem ?? `${counts(status)}, ${modelInWords(status)}`,
    busy: status.state === "indexing" && !status.paused,
    severity: status.lastError ? "error" : problem ? "warning" : "information",
  };
}

function stateInWords(status: StatusAnswer): string {
  if (status.paused) return "paused";
  if (status.state !== "indexing") return status.state;
  const { chunks, embedded, files } = status;
  if (files.indexed < files.total) return `indexing ${files.indexed} of ${files.total} files`;
  if (embedded < chunks) return `indexing ${Math.floor((100 * embedded) / chunks)} %`;
  const uncounted = status.remaining.filter((what) => what === "history" || what === "imports");
  return uncounted.length > 0 ? `counting ${uncounted.join(" and ")}` : "indexing";
}

function counts({ files, chunks }: StatusAnswer): string {
  return `${number(files.indexed)} files, ${number(chunks)} chunks`;
}

function modelInWords({ model, phase }: StatusAnswer): string {
  return model && phase === 3 ? model.name : "keywords only";
}

function modelInFull({ model }: StatusAnswer): string {
  if (!model) return "none, keywords only";
  return model.packaged ? `${model.name}, comes with Cairn` : model.name;
}

/** All details, one per line. */
export function lines(
  health: Health,
  found: { readonly command: string; readonly from: string } | undefined,
): Line[] {
  const { detail, severity } = describe(health);
  const server: Line[] = found ? [{ icon: "server-process", label: "Server", value: found.command }] : [];
  if (health.state !== "running" || !health.status) {
    return [
      { icon: severity === "error" ? "error" : "sync", label: detail || health.state, value: "" },
      ...server,
    ];
  }
  const { status } = health;
  const { latency } = status;
  const all: (Line | false)[] = [
    {
      icon: status.state === "ready" ? "pass" : status.lastError ? "error" : "sync",
      label: stateInWords(status),
      value: status.activity in ACTIVITIES ? (ACTIVITIES[status.activity] ?? "") : "",
    },
    status.lastError !== null && { icon: "error", label: "Problem", value: status.lastError },
    ...status.warnings.map((value): Line => ({ icon: "warning", label: "Warning", value })),
    {
      icon: "files",
      label: "Files",
      value: `${number(status.files.indexed)} of ${number(status.files.total)}`,
    },
    {
      icon: "list-tree",
      label: "Chunks",
      value: `${number(status.chunks)}, ${number(status.embedded)} with vectors`,
    },
    {
      icon: "hubot",
      label: "Model",
      value: modelInFull(status),
    },
    { icon: "layers", label: "Phase", value: PHASES[status.phase] ?? String(status.phase) },
    {
      icon: "library",
      label: "Collections",
      value: status.collections.map((collection) => collection.name).join(", "),
    },
    latency.p50 !== null && {
      icon: "dashboard",
      label: "Searches",
      value: `${Math.round(latency.p50)} ms, 95 of 100 within ${Math.round(latency.p95 ?? latency.p50)} ms`,
    },
    { icon: "chip", label: "Memory", value: `${number(Math.round(status.memory / 1e6))} MB` },
    ...server,
  ];
  return all.filter((line) => line !== false);
}

const PHASES: Readonly<Record<number, string>> = {
  1: "1, keywords",
  2: "2, keywords",
  3: "3, keywords and meaning",
};

function number(value: number): string {
  return value.toLocaleString("en");
}
