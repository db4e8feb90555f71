// Why a view has no answer to show, and what the user can do about it. It is pure: no editor.

import type { Action, Content } from "./panel/messages.ts";
import type { Outcome } from "./panel/follower.ts";
import { messageOf } from "./problem.ts";
import type { Health } from "./status_text.ts";

/** Why a view has no answer to show. */
export type Absence =
  | { readonly why: "missing" | "stopped" | "starting" | "restarting" | "noEditor" | "asking" }
  | { readonly why: "crashed" | "failed" | "problem"; readonly message: string };

/** The commands of actions; a refresh is the view's own. */
export const COMMANDS: Readonly<Record<Exclude<Action, "refresh">, string>> = {
  install: "cairn.installServer",
  restart: "cairn.restart",
  log: "cairn.showLog",
};

/** `outcome` is the last one, if any; `isAsked` says whether there is anything to ask about. */
export function absenceOf(health: Health, outcome: Outcome<unknown> | undefined, isAsked: boolean): Absence {
  if (health.state === "crashed" || health.state === "failed") {
    return { why: health.state, message: health.message };
  }
  if (health.state !== "running") return { why: health.state };
  if (outcome && "problem" in outcome) return { why: "problem", message: messageOf(outcome.problem) };
  return { why: isAsked ? "asking" : "noEditor" };
}

/** The message for the user, and what they can do. */
export function explained(absence: Absence): Pick<Content, "message" | "actions"> {
  const restart = { action: "restart", label: "Restart Server" } as const;
  const log = { action: "log", label: "Show Log" } as const;
  switch (absence.why) {
    case "missing":
      return {
        message: "Cairn’s server is not installed on this machine.",
        actions: [{ action: "install", label: "Install Server" }, restart],
      };
    case "stopped":
      return { message: "Cairn’s server is not running.", actions: [{ ...restart, label: "Start Server" }] };
    case "starting":
    case "restarting":
      return { message: "Cairn’s server is starting…", actions: [] };
    case "noEditor":
      return { message: "Open a file to see the code and documents that belong to it.", actions: [] };
    case "asking":
      return { message: "", actions: [] };
    case "crashed":
    case "failed":
      return { message: absence.message, actions: [restart, log] };
    case "problem":
      return { message: absence.message, actions: [{ action: "refresh", label: "Try Again" }] };
  }
}
