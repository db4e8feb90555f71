// Written by scripts/protocol_types.py from server/cairn/protocol; change that one.
// Lines are 0-based and ranges end exclusive, as in LSP; paths are relative to their folder, with `/`.

export type BulletCategory =
  | "definition"
  | "feature"
  | "architecture"
  | "performance"
  | "integration"
  | "useCase"
  | "other";

export type ChunkType = "prose" | "code" | "api" | "cmd" | "config";

export type FeedbackAction = "open" | "copy" | "helpful" | "notHelpful";

export type FormatStyle = "markdown" | "plain" | "json";

export type ReferenceDirection = "callers" | "callees" | "uses" | "implementations" | "tests";

export type SectionType =
  | "definition"
  | "features"
  | "architecture"
  | "performance"
  | "integrations"
  | "useCases"
  | "other";

export interface Position {
  readonly line: number;
  readonly character: number;
}

export interface Range {
  readonly start: Position;
  readonly end: Position;
}

export interface TextDocument {
  readonly uri: string;
}

/** Strict: a result satisfies every field that is given. Several values mean any of them. */
export interface SearchFilter {
  readonly type?: readonly ChunkType[];
  /** By name or by a usual short one: `typescript`, `ts`. */
  readonly language?: readonly string[];
  /**
   * Where to look. Give it wherever the question is about one part of the workspace: nothing from elsewhere is found then, nor
   * crowds out what is there. A folder, with all that is below, or a file, by its path in the workspace (`net/ipv4`) or its absolute
   * one; or a gitignore-style glob (`docs/*.md`; `!*.lock` leaves out). Of several open folders a path may begin with the folder's
   * name. A place that there is not is an error, which names the nearest.
   */
  readonly path?: readonly string[];
  readonly collection?: readonly string[];
}

export interface SearchParams {
  readonly query: string;
  readonly limit?: number;
  /** 0 keywords only … 1 vectors only; by the query's type when absent. */
  readonly alpha?: number;
  readonly filter?: SearchFilter;
  /** Chunks shown before and after each result. */
  readonly context?: number;
  readonly explain?: boolean;
  /** Passages of one file that are shown, where it has so many that help to answer: 1 for its best one alone. */
  readonly passages?: number;
  /**
   * Whether text in double quotes is found only in the same case. With this or `whole_word`, a query without quotes
   * is such text as a whole.
   */
  readonly caseSensitive?: boolean;
  /** Whether text in double quotes is found only where it is no part of a longer word. */
  readonly wholeWord?: boolean;
}

export interface Context {
  readonly before: string;
  readonly after: string;
}

/** A further passage of a result's file. */
export interface FilePassage {
  /** Whole lines. */
  readonly range: Range;
  readonly text: string;
  /** The definition that the lines belong to, "" for none. */
  readonly symbol: string;
  readonly headerPath: string;
  /** 0 to 1, comparable with those of other passages of the answer. */
  readonly score: number;
}

export interface SearchResult {
  readonly path: string;
  /** URI of the workspace folder. */
  readonly folder: string;
  readonly uri: string;
  readonly range: Range;
  /**
   * The line to go to, as in LSP's symbols: the one that names `symbol`, or else the first. Of what is related the lines
   * that relate: the call, the mention or the definition of a name, or those that are nearest in meaning.
   */
  readonly selectionRange: Range;
  readonly collection: string;
  readonly title: string;
  readonly headerPath: string;
  readonly symbol: string;
  /** `function`, `class`, `method`, …; "" for none. */
  readonly symbolKind: string;
  readonly type: ChunkType;
  readonly language: string;
  /** 0 to 1, comparable within one answer. */
  readonly score: number;
  /** `exact`, `keyword`, `embedding` or `hybrid`: the legs that found it. */
  readonly source: string;
  readonly matchedTerms: readonly string[];
  /** Why it stands where it does: the ranking signals that speak for it, the strongest first, three at most. */
  readonly reasons: readonly string[];
  readonly snippet: string;
  readonly context: Context;
  readonly contentHash: string;
  /** Further passages of the same file, beside `snippet`, best first; none of them overlaps another. */
  readonly passages: readonly FilePassage[];
  /** One line a signal, strongest first; only when asked for. */
  readonly matchExplain: readonly string[] | null;
  /** Whole lines of `range` that answer the question best; null for a name, and of what is related. */
  readonly bestLines: Range | null;
}

/** What a clarifying question offers. */
export interface Candidate {
  readonly title: string;
  readonly category: string;
  readonly path: string;
}

export interface Verdict {
  /** `answer`, `clarify` or `noMatch`. */
  readonly action: string;
  readonly message: string;
  readonly candidates: readonly Candidate[];
  /** By what share of its score the first result leads the mean of the next three, 0 to 1. */
  readonly confidence: number;
  readonly matchedTerms: readonly string[];
  /** How much of the question some result holds, 0 to 1, rare terms counting more. */
  readonly coverage: number;
  /**
   * What a person should know of how the question was understood: that Cairn does not know its language, or that evidence
   * was looked for by its beginning alone.
   */
  readonly note: string;
}

/** How the query was understood. */
export interface QueryInfo {
  readonly normalized: string;
  readonly terms: readonly string[];
  readonly type: string;
  readonly alpha: number;
  readonly corrections: readonly string[];
}

/** What of a repository a team's index answers from. */
export interface Revision {
  /** The folder's URI. */
  readonly folder: string;
  readonly repository: string;
  readonly ref: string;
  readonly commit: string;
  /** In ISO 8601. */
  readonly committedAt: string;
  readonly indexedAt: string;
  /** Commits of the folder that are not in the index; None where that is not known. */
  readonly behind: number | null;
}

export interface IndexState {
  readonly generation: number;
  /** Whether every present file was indexed and embedded when the answer was made. */
  readonly complete: boolean;
  /** What was not done yet, of `files`, `vectors`, `history` and `imports`. */
  readonly remaining: readonly string[];
  /** Why nothing is indexed, where a rule leaves every file out. */
  readonly note: string;
  /** Of which commits the answer speaks, for each folder that is read from a team's index. */
  readonly revisions: readonly Revision[];
  /** These in words, as one sentence; "" where no team's index is read. */
  readonly source: string;
}

/** The phase (S2) in which an answer was made. */
export interface AnsweredIn {
  /** 3 with vectors, 2 by keywords alone, 1 by names and keywords and nothing else, 0 where retrieval is off. */
  readonly phase: number;
  /** The phase that the settings, or somebody by hand, ask for; 2 at most where no model can be used. */
  readonly wanted: number;
  /**
   * What stood in for the phase that it was asked in: `keywords` or `names` where more failed, `cache` for an answer that was
   * kept from before, `generic` for a message alone; "" for nothing.
   */
  readonly fallback: string;
  /** Why the phase is lower than wanted, or something stood in. */
  readonly reason: string;
}

export interface SearchAnswer {
  readonly results: readonly SearchResult[];
  readonly verdict: Verdict;
  readonly query: QueryInfo;
  readonly index: IndexState;
  /** Milliseconds by step; `cached` is 1 where the answer was there already. */
  readonly timings: Readonly<Record<string, number>>;
  /** Steps whose time was over before they had looked everywhere; what they found until then counts. */
  readonly brokenOff: readonly string[];
  readonly retrieval: AnsweredIn;
}

export interface FeedbackParams {
  /** What was asked; of it only the stems of its words are kept. */
  readonly query: string;
  /** Of the result. */
  readonly contentHash: string;
  readonly action: FeedbackAction;
  /** The result's, to tell it apart from copies. */
  readonly path?: string;
  /** URI of the result's workspace folder. */
  readonly folder?: string;
}

export interface FeedbackAnswer {
  /** False where the settings say that nothing is to be learned. */
  readonly kept: boolean;
}

export interface ResetFeedbackParams {
  /** URI of the workspace folder; all when absent. */
  readonly folder?: string;
}

export interface ResetFeedbackAnswer {
  /** Choices that there were. */
  readonly forgotten: number;
}

export interface RelatedParams {
  readonly textDocument: TextDocument;
  /** The passage; an empty one is the line it is in. */
  readonly range: Range;
  readonly limit?: number;
  /** Chunks shown before and after each result. */
  readonly context?: number;
}

export interface RelatedAnswer {
  /** `matchExplain` names how each is related; `source` may be `relation`: by its file alone. */
  readonly results: readonly SearchResult[];
  readonly index: IndexState;
  /** Milliseconds by step. */
  readonly timings: Readonly<Record<string, number>>;
  readonly retrieval: AnsweredIn;
}

/** Those of LSP's `workspace/symbol`. */
export interface SymbolParams {
  readonly query: string;
}

/** A definition, for LSP's `workspace/symbol`. */
export interface Symbol {
  readonly name: string;
  /** `function`, `class`, `method`, …; "" where it is not known. */
  readonly kind: string;
  readonly container: string;
  readonly uri: string;
  readonly range: Range;
}

/** The definition is given either by `symbol`, or by `text_document` and `position`. */
export interface ReferencesParams {
  /**
   * `name`, `Owner.name`, or `path:line` or `path:line:column` (both counted from 1) for the definition at that place or
   * around it.
   */
  readonly symbol?: string;
  readonly textDocument?: TextDocument;
  /** The place of a name: that of a definition, or of a reference to it. */
  readonly position?: Position;
  readonly direction?: ReferenceDirection;
  /** Levels to follow: 2 for the callers of the callers, too. Each function is followed once. */
  readonly depth?: number;
  /** References at most, those of the first level first; 0 for the definitions alone. */
  readonly limit?: number;
}

/** A definition. */
export interface SymbolPlace {
  readonly path: string;
  readonly uri: string;
  /** URI of the workspace folder. */
  readonly folder: string;
  /** Whole lines, from its first to its last. */
  readonly range: Range;
  /** Its name. */
  readonly selectionRange: Range;
  /** With the names of what is around it: `Application.handle`. */
  readonly symbol: string;
  /** `function`, `class`, `method`, … */
  readonly kind: string;
  /** The text of the line of its name; of a very long line, the beginning. */
  readonly line: string;
}

/** The innermost function or type around a reference, in the same file. */
export interface EnclosingSymbol {
  readonly symbol: string;
  readonly kind: string;
  readonly range: Range;
  /** Its name. */
  readonly selectionRange: Range;
}

export interface FoundReference {
  readonly path: string;
  readonly uri: string;
  /** URI of the workspace folder. */
  readonly folder: string;
  /** The name, where it is referred to; of an implementation, where that is defined. */
  readonly range: Range;
  /** The text of that line; of a very long line, the beginning. */
  readonly line: string;
  /** Null at the top level of the file. Of an implementation, the implementing definition itself. */
  readonly enclosing: EnclosingSymbol | null;
  /** What is referred to, with the names of what is around it; as it is written where the workspace does not define it. */
  readonly symbol: string;
  /** Of callees, the definition that is called; null where the workspace has none, and for other directions. */
  readonly target: SymbolPlace | null;
  /** `call`, `import`, `inherit`, `read` or `write`. */
  readonly kind: string;
  /** 0 to 1: how likely it means this definition and no other of the same name. */
  readonly confidence: number;
  /** Why it is thought to mean this one. */
  readonly via: string;
  /** From 1: that of a reference to what was asked for, or by it. */
  readonly depth: number;
  /**
   * The index, in `references`, of the reference that led here: this one refers to its enclosing function or, of callees,
   * stands in its target; null at the first level.
   */
  readonly parent: number | null;
}

export interface ReferencesAnswer {
  /** The name of the first definition with the names of what is around it; as it was asked for where there is none. */
  readonly symbol: string;
  /** What the symbol may mean, best first. */
  readonly definitions: readonly SymbolPlace[];
  /** Level by level; in each, those of the highest confidence first, callees in the order of the code. */
  readonly references: readonly FoundReference[];
  /** Whether these are all. */
  readonly complete: boolean;
  readonly index: IndexState;
  /** Milliseconds by step. */
  readonly timings: Readonly<Record<string, number>>;
  /** Why there is no definition, and which names are near; "" where there is one. */
  readonly message: string;
}

/** One of LSP's. */
export interface Diagnostic {
  readonly range: Range;
  readonly message: string;
  /** 1 error, 2 warning, 3 information, 4 hint; an error when absent. */
  readonly severity?: number;
  readonly source?: string;
  /** A string or a whole number. */
  readonly code?: unknown;
}

/** The place is either a position or a range. */
export interface ContextParams {
  readonly textDocument: TextDocument;
  readonly position?: Position;
  /** What is selected; an empty one is a position. */
  readonly range?: Range;
  /** Tokens of the whole context; those of the settings when absent. */
  readonly budget?: number;
  /** Passages. */
  readonly limit?: number;
  /** What is asked about the place; passages that it finds come first. */
  readonly query?: string;
  /** What the document holds, for one that is not indexed; documents that are open here need none. */
  readonly text?: string;
  /** URIs, the one used last first; the open ones that the server knows of when absent. */
  readonly openDocuments?: readonly string[];
  /** Of the document. */
  readonly diagnostics?: readonly Diagnostic[];
  /** The latest first; the last five that were answered here when absent. */
  readonly recentQueries?: readonly string[];
}

export interface ContextPassage {
  /** `code`, `documents` or `readme`. */
  readonly group: string;
  /** Why it is there, the strongest first; `matchExplain` has the figures. */
  readonly reasons: readonly string[];
  readonly result: SearchResult;
}

/** The passage that an answer is about: it stays the same while the cursor is in its range. */
export interface ContextPlace {
  readonly path: string;
  readonly uri: string;
  readonly range: Range;
  readonly title: string;
  readonly headerPath: string;
  readonly symbol: string;
}

export interface ContextPart {
  /** `coreConcepts`, `passages`, `editorState`, `diagnostics` or `recentQueries`. */
  readonly name: string;
  readonly budget: number;
  readonly tokens: number;
}

/** What the context leaves out, as a whole or some lines of it. */
export interface DroppedItem {
  readonly part: string;
  readonly title: string;
  readonly citation: string;
  readonly tokens: number;
  readonly score: number;
  readonly why: string;
}

export interface ContextAnswer {
  /** Best first. */
  readonly passages: readonly ContextPassage[];
  /** Markdown; citations are `path#L10-L14`, 1-based and inclusive. */
  readonly context: string;
  readonly parts: readonly ContextPart[];
  readonly dropped: readonly DroppedItem[];
  /** Of `context`. */
  readonly tokens: number;
  readonly budget: number;
  readonly place: ContextPlace;
  readonly index: IndexState;
  /** Milliseconds by step; `cached` is 1 where the passages were there already. */
  readonly timings: Readonly<Record<string, number>>;
  readonly retrieval: AnsweredIn;
}

/** One piece of evidence. The cited lines hold `text`, as a reader would read them. */
export interface Bullet {
  readonly text: string;
  /** `path#L10-L14`, 1-based and inclusive. */
  readonly citation: string;
  /** `<collection>#<chunk index>` (S1). */
  readonly sourceId: string;
  readonly collection: string;
  readonly path: string;
  readonly uri: string;
  /** A range of no lines at the top of the file where the lines are not known. */
  readonly range: Range;
  readonly score: number;
  readonly category: BulletCategory;
}

/** A titled group of bullets. */
export interface Section {
  readonly title: string;
  readonly sectionType: SectionType;
  /** 1 is first. */
  readonly priority: number;
  readonly bullets: readonly Bullet[];
}

/** Bullets arranged into sections. */
export interface AnswerPlan {
  readonly sections: readonly Section[];
  readonly totalBullets: number;
  /** `[source_id]` of every bullet, in order of first use. */
  readonly sources: readonly string[];
}

/** What a run did (S1). */
export interface DiscoveryMetrics {
  readonly totalTimeMs: number;
  readonly collectionsSearched: number;
  readonly queriesGenerated: number;
  /** Broad and focused together. */
  readonly chunksFound: number;
  readonly chunksAfterDedup: number;
  readonly bulletsExtracted: number;
  readonly finalPromptTokens: number;
  /** Milliseconds by stage; of an answer that was kept from before, `cached` alone. */
  readonly stages: Readonly<Record<string, number>>;
}

/** Lines of a file that help to answer, as they stand there. */
export interface Excerpt {
  /** Relative to the workspace folder, with `/`. */
  readonly path: string;
  readonly uri: string;
  /** URI of the workspace folder. */
  readonly folder: string;
  /** Whole lines. */
  readonly range: Range;
  /** The lines of `range`, unchanged. */
  readonly text: string;
  /** `path#L10-L14`, 1-based and inclusive. */
  readonly citation: string;
  /** The definition that the lines belong to, "" for none. */
  readonly symbol: string;
  /** Breadcrumb, outermost first, joined by " > ": headings, or enclosing definitions. */
  readonly headerPath: string;
  readonly language: string;
  /** Why it is shown, in a few words. */
  readonly reason: string;
  /** 0 to 1, comparable within one answer. */
  readonly score: number;
}

/** What evidence may be taken from. */
export interface DiscoverFilter {
  /**
   * Where to look, as in the filter of `cairn/search`: folders (`net/ipv4`), files or globs. Give it wherever the question is about
   * one part of the workspace: excerpts, bullets and chunks are all from there.
   */
  readonly path?: readonly string[];
}

export interface DiscoverParams {
  readonly query: string;
  /** Globs of collections to use; all when empty. */
  readonly include?: readonly string[];
  /** Globs of collections to leave out; the configured default when absent. */
  readonly exclude?: readonly string[];
  readonly maxBullets?: number;
  readonly format?: FormatStyle;
  readonly filter?: DiscoverFilter;
  /** Any part of the `discovery` settings, laid over them for this request. */
  readonly config?: Readonly<Record<string, unknown>>;
}

export interface DiscoverAnswer {
  readonly answerPrompt: string;
  readonly plan: AnswerPlan;
  readonly bullets: readonly Bullet[];
  readonly chunks: readonly SearchResult[];
  readonly verdict: Verdict;
  readonly metrics: DiscoveryMetrics;
  readonly index: IndexState;
  /** What the prompt quotes, in its order: the most useful first. */
  readonly excerpts: readonly Excerpt[];
  readonly retrieval: AnsweredIn;
}

/**
 * What `$/progress` carries to the `partialResultToken` of `cairn/discover`, and REST's events to who asks for them, after each
 * of its nine stages. An answer that was kept from before runs no stage, so nothing is told of it.
 *
 * A part of the answer that the stage did not change is absent; one that is there replaces the one before, whole.
 * The answer itself is complete all the same, so that a client may ignore all of these.
 */
export interface DiscoverProgress {
  /** The stage that has ended, as `metrics.stages` names it. */
  readonly stage: string;
  /** As far as they are known. */
  readonly metrics: DiscoveryMetrics;
  readonly chunks?: readonly SearchResult[];
  readonly bullets?: readonly Bullet[];
  readonly plan?: AnswerPlan;
  readonly excerpts?: readonly Excerpt[];
  readonly answerPrompt?: string;
}

export interface FileCounts {
  readonly total: number;
  readonly indexed: number;
}

export interface ModelInfo {
  readonly name: string;
  readonly dimension: number;
  readonly id: string;
  /** Whether it is the code model that comes with Cairn; `cairn model install` adds a larger one, slower to index. */
  readonly packaged: boolean;
}

export interface CollectionInfo {
  readonly name: string;
  readonly folder: string;
  readonly kind: string;
  readonly files: number;
  readonly chunks: number;
  readonly tags: readonly string[];
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Milliseconds over the latest searches that were not answered from the cache; null before the first. */
export interface Latency {
  readonly p50: number | null;
  readonly p95: number | null;
  /** Searches whose answer was there already, since the start… */
  readonly cacheHits: number;
  /** …and those whose answer had to be made. */
  readonly cacheMisses: number;
}

/** How the switch stands, for the status. */
export interface PhaseState {
  readonly phase: number;
  /** What the settings, or somebody by hand, ask for. */
  readonly wanted: number;
  readonly byHand: boolean;
  readonly automatic: boolean;
  /** Of the last change; "" before the first. */
  readonly reason: string;
  /** When that was, or the start; UTC (ISO 8601). */
  readonly since: string;
  /** Until the next higher phase may be tried; 0 where it waits for searches to become faster; None if none is to be. */
  readonly nextTrySeconds: number | null;
  /** Of the searches counted: those of this phase, since it began and within the window; None before the first. */
  readonly p95Ms: number | null;
  /** Their share that failed, 0 to 1… */
  readonly errorRate: number;
  /** …and that less than this phase answered, because something of it failed. */
  readonly fallbackRate: number;
  /** How many they are. */
  readonly queries: number;
}

/** A step of the phase in some process of the workspace. */
export interface LoggedPhaseChange {
  readonly at: string;
  readonly before: number;
  readonly after: number;
  readonly reason: string;
  /** From now until the next higher phase is tried, 0 if that is over; None where none is to be tried. */
  readonly nextTrySeconds: number | null;
  readonly pid: number;
  /** Whether that process runs still. Of one that does, the latest change tells its phase. */
  readonly alive: boolean;
}

/** What the latest logged questions were like, in all processes. A share of nothing is None. */
export interface RecentQueries {
  readonly queries: number;
  /** When the first of them was asked; "" without any. */
  readonly since: string;
  /** Of those that were not answered from the cache, and did not fail. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  /** Of those that did not fail. */
  readonly cachedShare: number | null;
  readonly errorShare: number | null;
  /** Of those that were judged: answered with "Which part should I explain?", S2's fallback rate. */
  readonly noMatchShare: number | null;
  /** …and with another question back. */
  readonly clarifyShare: number | null;
  /** …and in which some result has one of the question's terms, S2's keyword match rate. */
  readonly keywordMatchShare: number | null;
  /** Of all: answered in a lower phase than was asked for, or with something that stood in for it. */
  readonly belowWantedShare: number | null;
  /** The latest first. */
  readonly phaseChanges: readonly LoggedPhaseChange[];
}

/** How questions are answered. */
export interface RetrievalStatus {
  /** In this process. */
  readonly state: PhaseState;
  /** In all processes that have the workspace open; of several folders, the first one's. */
  readonly recent: RecentQueries;
}

export interface StatusAnswer {
  /**
   * `starting`, `indexing`, `ready` (every present file is indexed and embedded by `model`, and history and imports are
   * counted), `degraded` (nothing more to do, but no vectors; or the index cannot be written) or `disabled`.
   */
  readonly state: string;
  readonly searchable: boolean;
  readonly generation: number;
  /** 3 with vectors, 2 on keywords alone (S2). */
  readonly phase: number;
  readonly files: FileCounts;
  readonly chunks: number;
  /** Chunks with a vector of `model`. */
  readonly embedded: number;
  /** Chunks that wait for one. */
  readonly queued: number;
  /**
   * The installed model, else the code model that comes with Cairn; null where embedding is switched off, or neither
   * can be used.
   */
  readonly model: ModelInfo | null;
  readonly collections: readonly CollectionInfo[];
  readonly lastError: string | null;
  readonly latency: Latency;
  /** Resident bytes of this process. */
  readonly memory: number;
  readonly warnings: readonly string[];
  /** Files and directories that the last scan of this process left out, by rule. */
  readonly skipped: Readonly<Record<string, number>>;
  /**
   * What indexing does now: `checking`, `scanning`, `reading`, `static`, `history`, `embedding`, `tidying`,
   * `idle` or `paused`.
   */
  readonly activity: string;
  /** Chunks with a static vector, by the code model that comes with Cairn; these come within seconds. */
  readonly staticEmbedded: number;
  readonly paused: boolean;
  /** Texts embedded, as of late. */
  readonly textsPerSecond: number;
  /** Until all vectors are made; null while nobody can tell. */
  readonly secondsLeft: number | null;
  readonly retrieval: RetrievalStatus | null;
  /** What is not done yet, of `files`, `vectors`, `history` and `imports`; nothing where `state` is `ready`. */
  readonly remaining: readonly string[];
}

export interface SetPhaseParams {
  /** 0 switches retrieval off; null leaves it to the settings and the kill switch again. */
  readonly phase?: number;
}

export interface FetchPageParams {
  readonly path: string;
  /** URI of the workspace folder; needed only where two folders hold the path. */
  readonly folder?: string;
  /**
   * Whether the text is wanted as it is on disk now, or in an editor, instead of as it was indexed. A path may then be written
   * in any way: absolute, behind the folder's name, or as the end of one.
   */
  readonly now?: boolean;
}

export interface PageChunk {
  readonly range: Range;
  readonly title: string;
  readonly type: ChunkType;
  readonly symbol: string;
}

export interface PageAnswer {
  readonly text: string;
  readonly language: string;
  readonly chunks: readonly PageChunk[];
  /** Relative to the workspace folder, with `/`. */
  readonly path: string;
  /** URI of the workspace folder. */
  readonly folder: string;
  /** `disk` where `now` was asked for and the file could be read; else `indexed`, which `chunks` is about in any case. */
  readonly version: string;
  /** Whether the file on disk has another text than the index; known only where `now` was asked for. */
  readonly changed: boolean;
}

export interface ReindexParams {
  /** A file or folder relative to its workspace folder; everything when absent. */
  readonly path?: string;
  /** URI of the workspace folder; all when absent. */
  readonly folder?: string;
}

export interface ReindexAnswer {
  readonly scheduled: boolean;
}

/** To `cairn/pause` and `cairn/resume`. */
export interface PausedAnswer {
  readonly paused: boolean;
}
