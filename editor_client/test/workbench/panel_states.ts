// States of the context panel to look at and to check, made as the extension makes them.

import type { Content, Folds, Reveal } from "../../src/panel/messages.ts";
import {
  contentOfAbsence,
  contentOfAnswer,
  revealOf,
  type Surroundings,
} from "../../src/panel/view_model.ts";
import type { ContextAnswer, ContextPassage, ContextSection } from "../../src/protocol.ts";
import { answeredIn, lines, result } from "../unit/results.ts";

export interface State {
  readonly content: Content;
  readonly folds?: Folds;
  /** The keys to press, from the first passage on. */
  readonly keys?: readonly string[];
  /** Whether the pointer is on the first passage. */
  readonly hovered?: boolean;
  /** The message that shows a section without passages. */
  readonly absent?: Reveal;
}

const around: Surroundings = { pinned: undefined, indexed: true, status: undefined, folderName: () => "" };
const pinned = { canGoBack: true, canGoForward: false };

function passage(
  section: ContextSection,
  title: string,
  path: string,
  snippet: string,
  reasons: readonly string[],
  matchedTerms: readonly string[] = [],
): ContextPassage {
  const matchExplain = reasons.map(
    (reason, at) => `${reason}: ${(0.8 / (at + 1)).toFixed(2)} × 10 = +${(8 / (at + 1)).toFixed(2)}`,
  );
  const range = lines(40, 48);
  const shown = { title, path, snippet, matchedTerms, matchExplain, range, selectionRange: lines(41, 42) };
  return {
    group: "code",
    section,
    reasons,
    result: result({ ...shown, headerPath: title, contentHash: title }),
  };
}

const PASSAGES = [
  passage(
    "callers",
    "Flask.dispatch_request",
    "src/flask/app.py",
    "def dispatch_request(self) -> str:\n    req = request_ctx.request\n    self.add_url_rule(req)\n",
    ["calls it", "same file", "similar in meaning", "changes with it"],
    ["add_url_rule"],
  ),
  passage(
    "callers",
    "BlueprintSetupStateWithAVeryLongNameIndeed.add_url_rule_to_the_application",
    "services/catalogue/internal/infrastructure/persistence/repositories/blueprints_repository.py",
    "    self.app.add_url_rule(f'{self.blueprint.name}.{endpoint}', view_func, defaults, **options)\n",
    ["calls it"],
    ["add_url_rule"],
  ),
  passage("used", "url_rule_class", "src/flask/sansio/app.py", "url_rule_class = Rule\n", ["called by it"]),
  passage(
    "tests",
    "test_add_url_rule",
    "tests/test_basic.py",
    "def test_add_url_rule(app, client):\n\tapp.add_url_rule('/', view_func=index)\n",
    ["tests it"],
    ["add_url_rule"],
  ),
  passage(
    "documents",
    "URL Route Registrations",
    "docs/api.rst",
    "Generally there are three ways to define rules for the routing system:\n",
    ["names it", "similar in meaning"],
    ["routing"],
  ),
];

const ANSWER: ContextAnswer = {
  passages: PASSAGES,
  context: "",
  parts: [],
  dropped: [],
  tokens: 0,
  budget: 0,
  place: {
    path: "src/flask/sansio/scaffold/application_setup_and_registration.py",
    uri: "file:///w/src/flask/app.py",
    range: lines(592, 640),
    title: "add_url_rule",
    headerPath: "App > add_url_rule",
    symbol: "add_url_rule",
  },
  index: { generation: 1, complete: true, remaining: [], note: "", revisions: [], source: "" },
  timings: {},
  message: "",
  retrieval: answeredIn,
};
const INCOMPLETE = { ...ANSWER, index: { ...ANSWER.index, complete: false } };

/** The states by name. */
export const STATES = {
  passages: { content: contentOfAnswer(ANSWER, around) },
  hovered: { content: contentOfAnswer({ ...ANSWER, passages: PASSAGES.slice(1) }, around), hovered: true },
  folded: {
    content: contentOfAnswer(ANSWER, { ...around, folderName: () => "flask" }),
    folds: { callers: true, tests: true, documents: true },
  },
  why: { content: contentOfAnswer({ ...ANSWER, passages: PASSAGES.slice(0, 2) }, around), keys: ["w"] },
  pinned: { content: contentOfAnswer(ANSWER, { ...around, pinned }) },
  "empty-sections": {
    content: contentOfAnswer({ ...ANSWER, passages: PASSAGES.slice(3) }, around),
    folds: { empty: false, tests: true, documents: true },
  },
  absent: {
    content: contentOfAnswer({ ...ANSWER, passages: PASSAGES.slice(0, 2) }, { ...around, pinned }),
    absent: revealOf("tests", { ...ANSWER, passages: PASSAGES.slice(0, 2) }, around),
  },
  nothing: { content: contentOfAnswer({ ...ANSWER, passages: [] }, around) },
  indexing: { content: contentOfAnswer(INCOMPLETE, around) },
  "not-indexed": { content: contentOfAnswer(ANSWER, { ...around, indexed: false }) },
  message: { content: contentOfAbsence({ why: "missing" }, undefined) },
  problem: {
    content: contentOfAbsence(
      { why: "failed", message: "The server ended with code 3: the index is locked by another process." },
      undefined,
    ),
  },
  asking: { content: contentOfAbsence({ why: "asking" }, undefined) },
} satisfies Readonly<Record<string, State>>;
