// What the context panel's webview and the extension say to each other, and the check of what comes from the webview.

/** Part of a snippet's line; `marked` where it is one of the words through which the passage is related. */
export interface Piece {
  readonly text: string;
  readonly marked: boolean;
}

export interface SnippetLine {
  readonly pieces: readonly Piece[];
  /** Whether lines before it are left out. */
  readonly afterGap: boolean;
}

/** A passage as it is drawn. */
export interface PassageContent {
  /** Where it is in the answer that is shown. */
  readonly index: number;
  /** The same for the same passage in another answer: what has the focus keeps it. */
  readonly id: string;
  readonly title: string;
  readonly file: string;
  /** 1-based, the one that opening goes to. */
  readonly line: number;
  /** "" at the top of the folder. */
  readonly directory: string;
  /** Of the workspace folder, where several are open. */
  readonly folder: string;
  readonly reasons: string;
  readonly snippet: readonly SnippetLine[];
  /** What a screen reader says. */
  readonly label: string;
  readonly tooltip: string;
}

export interface GroupContent {
  readonly heading: string;
  readonly passages: readonly PassageContent[];
}

/** What the panel is about. */
export interface PlaceContent {
  readonly title: string;
  /** The file's name with its lines. */
  readonly file: string;
  readonly directory: string;
  /** Both, as a path. */
  readonly where: string;
}

/** What a button of a message does. The extension knows which command that is. */
export const ACTIONS = ["install", "restart", "log", "refresh"] as const;
export type Action = (typeof ACTIONS)[number];

/** All that is drawn. Passages and a message may both be missing, never the key. */
export interface Content {
  /** Says which content it is: equal content is not drawn again, and clicks on other content do not count. */
  readonly key: string;
  readonly place: PlaceContent | undefined;
  readonly pinned: boolean;
  /** How complete the index was, where it was not; else of which commit a team's index speaks, where that is read. */
  readonly notice: string;
  readonly groups: readonly GroupContent[];
  /** Instead of passages. */
  readonly message: string;
  readonly actions: readonly { readonly action: Action; readonly label: string }[];
  /** What is announced once it is drawn. */
  readonly announcement: string;
}

export type ToWebview =
  { readonly type: "draw"; readonly content: Content } | { readonly type: "announce"; readonly text: string };

export type FromWebview =
  | { readonly type: "ready" | "pin" | "unpin" | "refresh" | "copyPrompt" | "openPlace" }
  | { readonly type: "open"; readonly key: string; readonly index: number; readonly beside: boolean }
  | { readonly type: "copy"; readonly key: string; readonly index: number }
  | { readonly type: "run"; readonly action: Action };

/** The message, if it is one; undefined for anything else. */
export function fromWebview(given: unknown): FromWebview | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const { type, key, index, beside, action } = given as Record<string, unknown>;
  switch (type) {
    case "ready":
    case "pin":
    case "unpin":
    case "refresh":
    case "copyPrompt":
    case "openPlace":
      return { type };
    case "open":
      return isKey(key) && isIndex(index) && typeof beside === "boolean"
        ? { type, key, index, beside }
        : undefined;
    case "copy":
      return isKey(key) && isIndex(index) ? { type, key, index } : undefined;
    case "run": {
      const known = ACTIONS.find((each) => each === action);
      return known && { type, action: known };
    }
    default:
      return undefined;
  }
}

function isKey(given: unknown): given is string {
  return typeof given === "string";
}

function isIndex(given: unknown): given is number {
  return typeof given === "number" && Number.isSafeInteger(given) && given >= 0;
}
