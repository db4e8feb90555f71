// The script of the context panel: draws what the extension sends, and reports clicks.

import {
  type Content,
  EMPTY,
  type EmptySection,
  type Foldable,
  type Folds,
  type FromWebview,
  type Listed,
  type PassageContent,
  type Reveal,
  type SectionContent,
  type ToWebview,
} from "../panel/messages.ts";
import { element, fileWithLines, icon, iconButton } from "./elements.ts";
import { hideReasons, passageItem, showReasons } from "./passage.ts";
import { makeTabStop, moved, rows, tabStop } from "./rows.ts";

/** The state kept while the view is hidden. Another version of this script may have written it. */
interface Kept {
  readonly version: 2;
  readonly content: Content;
  readonly folds: Folds;
}

/** Moving through lines redraws the panel often; only the last state is announced to screen readers. */
const ANNOUNCE_MS = 1000;
const vscode = acquireVsCodeApi<Kept>();
const main = element("main", { className: "panel" });
const live = element("div", { className: "for-screen-readers" });
live.setAttribute("role", "status");
document.body.append(main, live);

let shown: Content | undefined;
let folds: Folds = {};
/** Whether the extension has sent the folds. From then on, those of this page count. */
let foldsAreKnown = false;
/** The id of the passage whose reasons are shown. */
let explained: string | undefined;
let announced = "";
let announcing: number | undefined;

window.addEventListener("message", ({ data }: MessageEvent<ToWebview>) => {
  if (data.type === "announce") announce(data.text, 0);
  else if (data.type === "reveal") reveal(data);
  else {
    const isNew = data.content.key !== shown?.key;
    if (!isNew && foldsAreKnown) return;
    if (!foldsAreKnown) folds = data.folds;
    foldsAreKnown = true;
    draw(data.content);
    if (isNew && data.content.announcement !== announced) announce(data.content.announcement, ANNOUNCE_MS);
  }
});
main.addEventListener("keydown", keyPressed);
window.addEventListener("focus", () => {
  send({ type: "focused" });
});
window.addEventListener("blur", () => {
  send({ type: "blurred" });
});
main.addEventListener("focusin", ({ target }) => {
  const row = target instanceof Element ? rowOf(target) : undefined;
  if (row) makeTabStop(main, row);
});

const kept = vscode.getState();
if (kept?.version === 2) {
  folds = kept.folds;
  draw(kept.content);
}
send({ type: "ready" });
if (document.hasFocus()) send({ type: "focused" });

function send(message: FromWebview): void {
  vscode.postMessage(message);
}

function draw(content: Content): void {
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset : undefined;
  const before = tabStop(main);
  const samePlace = content.place?.where === shown?.place?.where;
  const scrolled = document.documentElement.scrollTop;
  shown = content;
  if (!samePlace) explained = undefined;
  keep();
  main.replaceChildren(
    ...header(content),
    ...content.sections.map(section),
    ...emptySections(content.empty),
    ...message(content),
  );
  const all = rows(main);
  const same = all.find(({ dataset }) => dataset.id === before?.id);
  const first = all.find((row) => row.classList.contains("passage")) ?? all[0];
  const stays = samePlace || focused?.id !== undefined;
  const stop = (stays ? (same ?? all[before?.index ?? 0]) : undefined) ?? first;
  if (stop) makeTabStop(main, stop);
  const top = main.querySelector("header")?.offsetHeight ?? 0;
  // The header would cover a row that gets the focus.
  document.documentElement.style.scrollPaddingTop = `${top}px`;
  document.documentElement.scrollTop = samePlace ? scrolled : 0;
  if (focused?.id === undefined) return;
  const again = Array.from(main.querySelectorAll<HTMLElement>("[data-id]")).find(
    ({ dataset }) => dataset.id === focused.id,
  );
  (again ?? stop ?? main.querySelector<HTMLElement>("button"))?.focus({ preventScroll: true });
}

/** Keep what is shown for the next time that the editor makes this page. */
function keep(): void {
  if (shown) vscode.setState({ version: 2, content: shown, folds });
}

/** Move the focus to a section or, if it is empty, say so below the header. */
function reveal({ section, absent, all }: Reveal): void {
  main.querySelector(".absent")?.remove();
  if (absent) {
    const note = element("div", { className: "absent" }, element("p", { textContent: absent }));
    const listed = all ? [allLink(section as Listed, all)] : [];
    note.append(...listed);
    (main.querySelector("header") ?? main).after(note);
    document.documentElement.scrollTop = 0;
    (listed[0] ?? main.querySelector<HTMLElement>("[data-id=pin]"))?.focus();
    announce(absent, 0);
    return;
  }
  const heading = rows(main).find(({ dataset }) => dataset.section === section);
  if (!heading) return;
  fold(heading, false);
  heading.focus({ preventScroll: true });
  heading.scrollIntoView({ block: "start" });
}

function announce(text: string, delay: number): void {
  window.clearTimeout(announcing);
  announcing = window.setTimeout(() => {
    announced = text;
    live.textContent = text;
  }, delay);
}

// --- drawing

function header({ place, pinned, notice }: Content): HTMLElement[] {
  const drawn: HTMLElement[] = [];
  if (place) {
    const pin = button("pin", pinned ? "Unpin: follow the cursor again" : "Pin to this place", () => {
      send({ type: pinned ? "unpin" : "pin" });
    });
    pin.classList.toggle("on", pinned !== undefined);
    const where = element("div", { className: "where" });
    if (pinned) {
      const back = element(
        "button",
        { className: "file link", type: "button" },
        ...fileWithLines(place.file),
      );
      back.title = "Go to this place";
      back.dataset.id = "place";
      back.addEventListener("click", () => {
        send({ type: "openPlace" });
      });
      where.append(back);
    } else where.append(element("span", { className: "file" }, ...fileWithLines(place.file)));
    where.append(element("span", { className: "path", textContent: place.directory }));
    where.title = place.where;
    const title = element("h1", { textContent: place.title });
    title.title = place.title;
    const about = element("div", { className: "about" }, title, where);
    drawn.push(
      pinned
        ? element("header", { className: "pinned" }, toolbar(pinned, pin), about)
        : element("header", {}, about, element("div", { className: "buttons" }, pin)),
    );
  } else drawn.push(element("h1", { className: "for-screen-readers", textContent: "Context" }));
  if (notice) drawn.push(element("p", { className: "notice", textContent: notice }));
  return drawn;
}

/** The buttons of a pinned panel. */
function toolbar(
  { canGoBack, canGoForward }: NonNullable<Content["pinned"]>,
  pin: HTMLButtonElement,
): HTMLElement {
  const back = button("back", canGoBack ? "Back (Alt+Left)" : "Back: no earlier place", () => {
    send({ type: "back" });
  });
  const forward = button("forward", canGoForward ? "Forward (Alt+Right)" : "Forward: no later place", () => {
    send({ type: "forward" });
  });
  // A button with the attribute `disabled` would lose the focus at the history's end.
  back.ariaDisabled = String(!canGoBack);
  forward.ariaDisabled = String(!canGoForward);
  const refresh = button("refresh", "Refresh", () => {
    send({ type: "refresh" });
  });
  const badge = element("span", { className: "badge", textContent: "Pinned" });
  return element("div", { className: "buttons" }, back, forward, badge, refresh, pin);
}

/** A button with an icon that keeps the focus when the panel is drawn again. */
function button(
  icon: Parameters<typeof iconButton>[0],
  label: string,
  clicked: () => void,
): HTMLButtonElement {
  const made = iconButton(icon, label, clicked);
  made.dataset.id = icon;
  return made;
}

function section({ name, heading, passages, all }: SectionContent): HTMLElement {
  const list = element("ul", { id: `section-${name}` }, ...passages.map(passage));
  // The role is explicit, because some browsers ignore lists without bullets.
  list.setAttribute("role", "list");
  const links = all ? [allLink(name as Listed, all)] : [];
  return foldable(name, heading, passages.length, list, links);
}

/** The sections without passages are one folded section, which says what fills them. */
function emptySections(empty: readonly EmptySection[]): HTMLElement[] {
  if (empty.length === 0) return [];
  const list = element("dl", { id: `section-${EMPTY}` });
  for (const { heading, filling } of empty) {
    list.append(element("dt", { textContent: heading }), element("dd", { textContent: filling }));
  }
  return [foldable(EMPTY, "Empty sections", empty.length, list, [])];
}

function foldable(
  name: Foldable,
  heading: string,
  count: number,
  content: HTMLElement,
  links: readonly HTMLElement[],
): HTMLElement {
  const title = element("span", { className: "name", textContent: heading });
  const number = element("span", { className: "count", textContent: String(count) });
  const button = element("button", { className: "heading", type: "button" }, icon("chevron"), title, number);
  button.id = `heading-${name}`;
  button.dataset.id = `section ${name}`;
  button.dataset.section = name;
  button.setAttribute("aria-controls", content.id);
  button.addEventListener("click", () => {
    fold(button, button.ariaExpanded === "true");
  });
  content.setAttribute("aria-labelledby", button.id);
  const folded = folds[name] ?? name === EMPTY;
  button.ariaExpanded = String(!folded);
  content.hidden = folded;
  return element(
    "section",
    {},
    element("div", { className: "top" }, element("h2", {}, button), ...links),
    content,
  );
}

function fold(heading: HTMLElement, folded: boolean): void {
  const name = heading.dataset.section as Foldable;
  const content = document.getElementById(`section-${name}`);
  if (!content || content.hidden === folded) return;
  content.hidden = folded;
  heading.ariaExpanded = String(!folded);
  makeTabStop(main, heading);
  folds = { ...folds, [name]: folded };
  keep();
  send({ type: "fold", section: name, folded });
}

function allLink(name: Listed, label: string): HTMLButtonElement {
  const link = element("button", { className: "all link", type: "button", textContent: label });
  link.dataset.id = `all ${name}`;
  link.title = `${label}, in the references view`;
  link.addEventListener("click", () => {
    send({ type: "all", section: name });
  });
  return link;
}

function passage(content: PassageContent): HTMLElement {
  const { id, index } = content;
  const key = shown?.key ?? "";
  const item = passageItem(content, {
    open: (beside) => {
      send({ type: "open", key, index, beside });
    },
    copy: () => {
      send({ type: "copy", key, index });
    },
    explain: () => {
      explain(explained === id ? undefined : id);
    },
  });
  if (id === explained) showReasons(item, content);
  return item;
}

/** Show the reasons of a passage, and hide those of another one. */
function explain(id: string | undefined): void {
  explained = id;
  for (const passage of shown?.sections.flatMap((each) => each.passages) ?? []) {
    const item = rows(main)
      .find(({ dataset }) => dataset.id === passage.id)
      ?.closest("li");
    if (!item) continue;
    if (passage.id === id) showReasons(item, passage);
    else hideReasons(item);
  }
}

/** The passage with the id, also in a folded section. */
function passageWith(id: string): HTMLElement | undefined {
  return Array.from(main.querySelectorAll<HTMLElement>(".passage")).find(({ dataset }) => dataset.id === id);
}

function message({ message: text, actions }: Content): HTMLElement[] {
  if (!text) return [];
  const buttons = actions.map(({ action, label }) => {
    const button = element("button", { className: "link", type: "button", textContent: label });
    button.dataset.id = action;
    button.addEventListener("click", () => {
      send({ type: "run", action });
    });
    return button;
  });
  return [element("p", { className: "message", textContent: text }), ...buttons];
}

// --- keyboard: all headings and passages are one tab stop, followed by the buttons of the current one

/** The heading or passage to which an element belongs. */
function rowOf(target: Element): HTMLElement | undefined {
  return target.closest("li, .top")?.querySelector<HTMLElement>(".passage, .heading") ?? undefined;
}

function keyPressed(event: KeyboardEvent): void {
  const focused = event.target;
  if (!(focused instanceof HTMLElement)) return;
  if (event.key === "Escape" && explained !== undefined) {
    const passage = passageWith(explained);
    explain(undefined);
    if (passage?.closest("li")?.contains(focused)) passage.focus();
    // The editor has its own meaning of Escape.
    event.stopPropagation();
    return;
  }
  const isPassage = focused.classList.contains("passage");
  if (!isPassage && !focused.classList.contains("heading")) return;
  const passage = isPassage
    ? shown?.sections.flatMap((each) => each.passages).find(({ id }) => id === focused.dataset.id)
    : undefined;
  const alone = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
  if (passage && shown && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    send({ type: "open", key: shown.key, index: passage.index, beside: true });
  } else if (!alone) return;
  else if (passage && shown && event.key === "c") {
    send({ type: "copy", key: shown.key, index: passage.index });
  } else if (passage && event.key === "w") {
    explain(explained === passage.id ? undefined : passage.id);
    if (explained) announce(passage.why.map(({ words, score }) => `${words} ${score}`).join(", "), 0);
  } else if (!isPassage && event.key === "ArrowLeft") fold(focused, true);
  else if (!isPassage && event.key === "ArrowRight" && focused.ariaExpanded === "false") fold(focused, false);
  else {
    const next = moved(main, focused, event.key);
    if (!next) return;
    next.focus();
  }
  event.preventDefault();
}
