// Results and answers as the server sends them, for tests.

import type {
  Bullet,
  DiscoverAnswer,
  Excerpt,
  NamedPlace,
  Range,
  SearchAnswer,
  SearchResult,
  Verdict,
} from "../../src/protocol.ts";

export function lines(start: number, end: number): Range {
  return { start: { line: start, character: 0 }, end: { line: end, character: 0 } };
}

export function result(given: Partial<SearchResult> = {}): SearchResult {
  return {
    path: "src/flask/app.py",
    folder: "file:///w",
    uri: "file:///w/src/flask/app.py",
    range: lines(592, 600),
    selectionRange: lines(594, 595),
    collection: "Flask-source",
    title: "App.add_url_rule",
    headerPath: "App > add_url_rule",
    symbol: "add_url_rule",
    symbolKind: "method",
    type: "code",
    language: "python",
    score: 0.5,
    source: "hybrid",
    matchedTerms: ["url", "rule"],
    reasons: ["defines the symbol", "commit subjects"],
    snippet: "def add_url_rule(self): ...\n",
    context: { before: "", after: "" },
    contentHash: "hash",
    passages: [],
    matchExplain: null,
    bestLines: null,
    matchedLine: null,
    head: "",
    ...given,
  };
}

/** As most are answered. */
export const answeredIn = { phase: 3, wanted: 3, fallback: "", reason: "" };

export function verdict(given: Partial<Verdict> = {}): Verdict {
  return {
    action: "answer",
    message: "",
    candidates: [],
    confidence: 1,
    matchedTerms: [],
    coverage: 1,
    note: "",
    ...given,
  };
}

export function searchAnswer(results: SearchResult[], given: Partial<SearchAnswer> = {}): SearchAnswer {
  return {
    results,
    verdict: verdict(),
    query: { normalized: "", terms: [], type: "symbol", alpha: 0.5, corrections: [] },
    index: { generation: 1, complete: true, remaining: [], note: "", revisions: [], source: "" },
    timings: {},
    brokenOff: [],
    retrieval: answeredIn,
    further: [],
    occurrences: null,
    ...given,
  };
}

export function bullet(given: Partial<Bullet> = {}): Bullet {
  return {
    text: "Flask uses the Werkzeug routing system.",
    citation: "docs/design.rst#L83-L84",
    sourceId: "source",
    collection: "Flask-docs",
    path: "docs/design.rst",
    uri: "file:///w/docs/design.rst",
    range: lines(82, 84),
    score: 0.5,
    category: "definition",
    ...given,
  };
}

export function excerpt(given: Partial<Excerpt> = {}): Excerpt {
  return {
    path: "src/flask/app.py",
    uri: "file:///w/src/flask/app.py",
    folder: "file:///w",
    range: lines(477, 479),
    text: "def raise_routing_exception(self, request):\n    raise request.routing_exception",
    citation: "src/flask/app.py#L478-L479",
    symbol: "raise_routing_exception",
    headerPath: "Flask > raise_routing_exception",
    language: "python",
    reason: "has routing, exception",
    score: 1,
    ...given,
  };
}

export function namedPlace(given: Partial<NamedPlace> = {}): NamedPlace {
  return {
    path: "src/flask/app.py",
    uri: "file:///w/src/flask/app.py",
    folder: "file:///w",
    range: lines(592, 600),
    title: "App.add_url_rule",
    about: "(self, rule)",
    relation: "",
    shortPath: "app.py",
    ...given,
  };
}

export function discoverAnswer(bullets: Bullet[], given: Partial<DiscoverAnswer> = {}): DiscoverAnswer {
  const sources = [...new Set(bullets.map(({ path }) => path))];
  return {
    answerPrompt: "# Context\n",
    plan: {
      sections:
        bullets.length > 0 ? [{ title: "Definition", sectionType: "definition", priority: 1, bullets }] : [],
      totalBullets: bullets.length,
      sources,
    },
    bullets,
    chunks: [],
    verdict: verdict(),
    metrics: {
      totalTimeMs: 1,
      collectionsSearched: 1,
      queriesGenerated: 1,
      chunksFound: 1,
      chunksAfterDedup: 1,
      bulletsExtracted: bullets.length,
      finalPromptTokens: 120,
      stages: {},
    },
    index: { generation: 1, complete: true, remaining: [], note: "", revisions: [], source: "" },
    excerpts: [],
    elsewhere: [],
    repeated: [],
    hasMore: false,
    retrieval: answeredIn,
    ...given,
  };
}
