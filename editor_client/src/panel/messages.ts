// The messages between the context panel's webview and the extension, and the check of those from the
// webview.

/** A part of a snippet's line; `marked` if it is a word that relates the passage. */
export interface Piece {
  readonly text: string;
  readonly marked: boolean;
}

export interface SnippetLine {
  readonly pieces: readonly Piece[];
  /** Whether lines before it are omitted. */
  readonly afterGap: boolean;
}

/** A passage to draw. */
export interface PassageContent {
  /** Its index in the shown answer. */
  readonly index: number;
  /** The same for the same passage in another answer, so that it keeps the focus. */
  readonly id: string;
  readonly title: string;
  readonly file: string;
  /** The line to open, 1-based. */
  readonly line: number;
  /** "" for a file at the top of the folder. */
  readonly directory: string;
  /** The workspace folder's name, if several are open. */
  readonly folder: string;
  readonly reasons: string;
  readonly snippet: readonly SnippetLine[];
  /** The text for screen readers. */
  readonly label: string;
  readonly tooltip: string;
}

export interface GroupContent {
  readonly heading: string;
  readonly passages: readonly PassageContent[];
}

/** The place that the panel shows. */
export interface PlaceContent {
  readonly title: string;
  /** The file name with the lines. */
  readonly file: string;
  readonly directory: string;
  /** The path with the lines. */
  readonly where: string;
}

/** The action of a button in a message. The extension maps it to a command. */
export const ACTIONS = ["install", "restart", "log", "refresh"] as const;
export type Action = (typeof ACTIONS)[number];

/** The whole content. Passages and message may be absent; the key is always present. */
export interface Content {
  /** Identifies the content: equal content is not drawn again, and clicks on other content are ignored. */
  readonly key: string;
  readonly place: PlaceContent | undefined;
  readonly pinned: boolean;
  /** The progress of indexing, or else the commit of a team's index. */
  readonly notice: string;
  readonly groups: readonly GroupContent[];
  /** A message in place of passages. */
  readonly message: string;
  readonly actions: readonly { readonly action: Action; readonly label: string }[];
  /** The announcement after drawing. */
  readonly announcement: string;
}

export type ToWebview =
  { readonly type: "draw"; readonly content: Content } | { readonly type: "announce"; readonly text: string };

export type FromWebview =
  | { readonly type: "ready" | "pin" | "unpin" | "refresh" | "copyPrompt" | "openPlace" }
  | { readonly type: "open"; readonly key: string; readonly index: number; readonly beside: boolean }
  | { readonly type: "copy"; readonly key: string; readonly index: number }
  | { readonly type: "run"; readonly action: Action };

/** The message; undefined if it is invalid. */
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
