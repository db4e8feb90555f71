// Asks the server for the context of a place in the editor.

import { type Diagnostic, languages, type TextDocument, type TextEditor, Uri, workspace } from "vscode";
import { ResponseError } from "vscode-languageclient";

import type { Api } from "../api.ts";
import { protocolRange } from "../places.ts";
import type * as protocol from "../protocol.ts";
import { tokenOf } from "../view_requests.ts";
import { type Place, spansLines } from "./follower.ts";

const DIAGNOSTICS = 20;
/** The error codes of JSON-RPC. */
const INVALID_PARAMS = -32602;

export interface Answer extends protocol.ContextAnswer {
  /** Whether the place's file is in the index; otherwise only its text was compared. */
  readonly indexed: boolean;
}

/** Raises an error if there is no server, or if it has none of the place's text. */
export async function requestContext(
  api: Api | undefined,
  place: Place,
  signal?: AbortSignal,
): Promise<Answer> {
  if (!api) throw new Error("Cairn’s server is not running.");
  const token = tokenOf(signal);
  const uri = Uri.parse(place.uri);
  const document = openDocument(uri);
  const params: protocol.ContextParams = {
    textDocument: { uri: place.uri },
    ...(spansLines(place.selection) ? { range: place.selection } : { position: place.selection.end }),
    limit: workspace.getConfiguration("cairn", uri).get<number>("panel.limit", 10),
    diagnostics: nearest(languages.getDiagnostics(uri), place.selection.end.line),
  };
  const indexed = async () => ({ ...(await api.context(params, token)), indexed: true });
  if (!document) return indexed();
  const byText = async () => {
    const text = document.getText();
    return { ...(await api.context({ ...params, text }, token)), indexed: false };
  };
  if (!workspace.getWorkspaceFolder(uri)) return byText();
  try {
    return await indexed();
  } catch (problem) {
    // The file is not indexed: a rule excludes it, or it was not read yet. Its text is enough.
    if (!(problem instanceof ResponseError) || problem.code !== INVALID_PARAMS) throw problem;
    return byText();
  }
}

function openDocument(uri: Uri): TextDocument | undefined {
  return workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
}

/** Whether the document has a place in the workspace; output and similar documents have none. */
export function isText(document: TextDocument): boolean {
  return document.uri.scheme === "file" || document.uri.scheme === "untitled";
}

/** The place of a document, which need not be open. */
export function placeAt(uri: Uri, position: protocol.Position): Place {
  return {
    uri: uri.toString(),
    version: openDocument(uri)?.version ?? 0,
    selection: { start: position, end: position },
  };
}

/** The cursor or selection of an editor. */
export function placeOf({ document, selection }: TextEditor): Place {
  return {
    uri: document.uri.toString(),
    version: document.version,
    selection: protocolRange(selection),
  };
}

/** The diagnostics of a document, the nearest to the line first. */
function nearest(problems: readonly Diagnostic[], line: number): protocol.Diagnostic[] {
  const distance = ({ range }: Diagnostic) => Math.max(range.start.line - line, line - range.end.line, 0);
  return [...problems]
    .sort((one, other) => distance(one) - distance(other))
    .slice(0, DIAGNOSTICS)
    .map(({ range, message, severity, source, code }) => {
      const value = typeof code === "object" ? code.value : code;
      return {
        range: protocolRange(range),
        message,
        severity: severity + 1, // LSP counts from 1
        ...(source === undefined ? {} : { source }),
        ...(value === undefined ? {} : { code: value }),
      };
    });
}
