// Converts the answer about a change, or the reason why there is none, to the rows of the view *Change*. It
// does not use the editor.

import { type Absence, explained } from "../absence.ts";
import { kindIcon } from "../palette/rows.ts";
import type { Action } from "../panel/messages.ts";
import type { ChangeAnswer, ChangedDefinition, ChangedFile, ChangeKind, ChangePlace } from "../protocol.ts";

const SECTIONS = {
  stale: "Still Use the Old Definition",
  changed: "Changed",
  tests: "Tests to Run",
  companions: "Usually Change With It",
  unreached: "Reached by No Test",
} as const;
/** A section that can be folded. */
export type Section = keyof typeof SECTIONS;

export interface ChangeRow {
  /** The same for the same row in another answer, so that it stays unfolded and selected. */
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly tooltip: string;
  /** The name of a codicon, and the theme's colour for it; "" for none. */
  readonly icon: string;
  readonly color: string;
  readonly isStale: boolean;
  readonly place?: RowPlace;
  readonly section?: Section;
  readonly action?: Action;
  readonly children: readonly ChangeRow[];
}

export interface RowPlace {
  readonly uri: string;
  readonly range: ChangePlace["range"];
  /** The commit in which the place is; "" for the file as it is now. */
  readonly commit: string;
}

/** Everything that the view shows. */
export interface ChangeContent {
  readonly children: readonly ChangeRow[];
  /** The sentences above the rows. */
  readonly message: string;
  /** How many places still use an old definition. */
  readonly stale: number;
  readonly canRunTests: boolean;
}

const CHANGES: Readonly<Record<ChangeKind, { readonly words: string; readonly color: string }>> = {
  removed: { words: "removed", color: "deleted" },
  signature: { words: "new signature", color: "modified" },
  renamed: { words: "renamed", color: "renamed" },
  moved: { words: "moved", color: "renamed" },
  body: { words: "body", color: "modified" },
  added: { words: "added", color: "added" },
  comment: { words: "comment", color: "modified" },
  lines: { words: "lines", color: "modified" },
};
const RELATION_ICONS: Readonly<Record<string, string>> = {
  call: "call-incoming",
  import: "package",
  inherit: "type-hierarchy-sub",
  override: "type-hierarchy-sub",
};
const COMPANION_ICONS: Readonly<Record<string, string>> = {
  together: "git-commit",
  twin: "files",
  document: "book",
  changelog: "book",
  schema: "database",
  generated: "gear",
};
/** Less sure than this, a row says so. */
const SURE = 0.8;

export function contentOfChange(answer: ChangeAnswer, nameOf: (folder: string) => string): ChangeContent {
  const stale = answer.dependents.filter((place) => place.isStale);
  const dependent = (place: ChangePlace) =>
    placeRow(
      { ...place, reasons: [...place.reasons, ...unsure(place.confidence)] },
      place.line,
      [place.symbol, where(place, nameOf)],
      RELATION_ICONS[place.kind] ?? "references",
    );
  const rows = {
    stale: stale.map(dependent),
    changed: [
      ...answer.changed.map((definition, index) =>
        changedRow(
          definition,
          answer.base,
          nameOf,
          answer.dependents.filter(({ about }) => about.includes(index)).map(dependent),
        ),
      ),
      ...answer.files.filter(({ problem }) => problem).map(fileRow),
    ],
    tests: answer.tests.map((test) =>
      placeRow(test, test.symbol, [test.reasons[0], where(test, nameOf)], "beaker"),
    ),
    companions: answer.companions.map((place) =>
      placeRow(
        place,
        "",
        [place.reasons[0], directory(place, nameOf)],
        COMPANION_ICONS[place.kind] ?? "file",
      ),
    ),
    unreached: answer.unreached.map((place) =>
      placeRow(place, place.symbol, [where(place, nameOf)], "circle-slash"),
    ),
  };
  const sections = Object.entries(rows) as [Section, ChangeRow[]][];
  return {
    children: sections
      .filter(([, children]) => children.length > 0)
      .map(([name, of]) => sectionRow(name, of)),
    message: [...(answer.files.length > 0 ? [] : ["Nothing has changed."]), ...answer.messages].join(" "),
    stale: stale.length,
    canRunTests: answer.commands.length > 0,
  };
}

export function contentOfAbsence(absence: Absence): ChangeContent {
  const { message, actions } = explained(absence);
  const children = actions.map(({ action, label }) =>
    row({ id: action, label, icon: "arrow-right", action }),
  );
  return { children, message, stale: 0, canRunTests: false };
}

/** The row with the words that say that it is stale, for screen readers, which do not read its icon. */
export function spoken({ label, description, isStale }: ChangeRow): string {
  return [label, description, ...(isStale ? ["still uses the old definition"] : [])]
    .filter(Boolean)
    .join(", ");
}

function sectionRow(section: Section, children: readonly ChangeRow[]): ChangeRow {
  const description = String(children.length);
  return row({
    id: section,
    label: SECTIONS[section],
    description,
    section,
    children: within(section, children),
  });
}

function changedRow(
  definition: ChangedDefinition,
  base: string,
  nameOf: (folder: string) => string,
  dependents: readonly ChangeRow[],
): ChangeRow {
  const { uri, path, symbol, kind, before, line, range, definitionKind, confidence } = definition;
  const { words, color } = CHANGES[kind];
  const uses = dependents.length === 1 ? "1 use" : `${dependents.length} uses`;
  const id = `${uri} ${symbol}`;
  const was = before && before.line !== line ? [`before: ${before.line.trim()}`] : [];
  const place = `${path}:${range.start.line + 1}`;
  return row({
    id,
    label: symbol || baseName(path),
    description: joined([words, dependents.length > 0 && uses, where(definition, nameOf)]),
    tooltip: [place, line.trim(), ...was, ...definition.reasons, ...unsure(confidence)]
      .filter(Boolean)
      .join("\n"),
    icon: kindIcon(definitionKind) ?? "file",
    color: `gitDecoration.${color}ResourceForeground`,
    place: { uri, range, commit: kind === "removed" ? base : "" },
    children: within(id, dependents),
  });
}

/** A file whose definitions were not compared. */
function fileRow({ uri, path, problem, status }: ChangedFile): ChangeRow {
  const start = { line: 0, character: 0 };
  const place = { uri, range: { start, end: start }, commit: "" };
  return row({
    id: uri,
    label: baseName(path),
    description: joined([status, problem]),
    tooltip: path,
    icon: "file",
    ...(status === "removed" ? {} : { place }),
  });
}

function placeRow(
  place: ChangePlace,
  label: string,
  description: readonly (string | undefined)[],
  icon: string,
): ChangeRow {
  const { uri, path, range, symbol, line, reasons, isStale } = place;
  const cited = `${path}:${range.start.line + 1}`;
  return row({
    // Lines move while the user types; several places in one symbol are numbered in `within`.
    id: `${uri} ${symbol}`,
    label: label.trim() || baseName(path),
    description: joined(description),
    tooltip: [cited, line.trim(), ...reasons].filter(Boolean).join("\n"),
    icon: isStale ? "warning" : icon,
    color: isStale ? "list.warningForeground" : "",
    isStale,
    place: { uri, range, commit: "" },
  });
}

function row(given: Pick<ChangeRow, "id" | "label"> & Partial<ChangeRow>): ChangeRow {
  return {
    description: "",
    tooltip: given.label,
    icon: "",
    color: "",
    isStale: false,
    children: [],
    ...given,
  };
}

/** Rows below a parent, with IDs that are unique in the whole tree. */
function within(parent: string, rows: readonly ChangeRow[]): ChangeRow[] {
  const seen = new Map<string, number>();
  return rows.map((each) => {
    const before = seen.get(each.id) ?? 0;
    seen.set(each.id, before + 1);
    const id = `${parent} > ${each.id} ${before}`;
    return { ...each, id, children: within(id, each.children) };
  });
}

function where(
  { folder, path, range }: ChangePlace | ChangedDefinition,
  nameOf: (folder: string) => string,
): string {
  const place = `${baseName(path)}:${range.start.line + 1}`;
  const name = nameOf(folder);
  return name ? `${name} • ${place}` : place;
}

function directory({ folder, path }: ChangePlace, nameOf: (folder: string) => string): string {
  return [nameOf(folder), path.slice(0, Math.max(0, path.lastIndexOf("/")))].filter(Boolean).join(" • ");
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function joined(parts: readonly (string | undefined | false)[]): string {
  return parts.filter(Boolean).join(" · ");
}

function unsure(confidence: number): string[] {
  return confidence < SURE ? [`${Math.round(100 * confidence)} % sure`] : [];
}
