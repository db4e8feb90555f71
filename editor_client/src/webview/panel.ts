// The script of the context panel: draws what the extension sends, and reports clicks.

import type { Content, FromWebview, GroupContent, PassageContent, ToWebview } from "../panel/messages.ts";

/** The state kept while the view is hidden. Another version of this script may have written it. */
interface Kept {
  readonly version: 1;
  readonly content: Content;
}

/** Moving through lines redraws the panel often; only the last state is announced to screen readers. */
const ANNOUNCE_MS = 1000;
const SVG = "http://www.w3.org/2000/svg";
/** Outlines of icons on a grid of 16. */
const ICONS = {
  pin: "M5.5 2.5h5M6.5 2.5v4l-2 3h7l-2-3v-4M8 9.5v4.5",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  refresh: "M13 8a5 5 0 1 1-1.5-3.6M13.5 2v3h-3",
  beside: "M2.5 3.5h11v9h-11zM8 3.5v9",
};

const vscode = acquireVsCodeApi<Kept>();
const main = element("main", { className: "panel" });
const live = element("div", { className: "for-screen-readers" });
live.setAttribute("role", "status");
document.body.append(main, live);

let shown: Content | undefined;
let announced = "";
let announcing: number | undefined;

window.addEventListener("message", ({ data }: MessageEvent<ToWebview>) => {
  if (data.type === "announce") announce(data.text, 0);
  else if (data.content.key !== shown?.key) {
    draw(data.content);
    if (data.content.announcement !== announced) announce(data.content.announcement, ANNOUNCE_MS);
  }
});
main.addEventListener("keydown", keyPressed);
main.addEventListener("focusin", ({ target }) => {
  if (target instanceof HTMLElement && target.classList.contains("passage")) makeTabStop(target);
});

const kept = vscode.getState();
if (kept?.version === 1) draw(kept.content);
send({ type: "ready" });

function send(message: FromWebview): void {
  vscode.postMessage(message);
}

function draw(content: Content): void {
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset : undefined;
  const place = tabStopIndex();
  const samePlace = content.place?.where === shown?.place?.where;
  const scrolled = document.documentElement.scrollTop;
  shown = content;
  vscode.setState({ version: 1, content });
  main.replaceChildren(...header(content), ...content.groups.map(group), ...message(content));
  const all = passages();
  const same = all.find((each) => each.dataset.id === focused?.id);
  const stop = focused?.id === undefined ? all[samePlace ? place : 0] : (same ?? all[place]);
  const reached = stop ?? all[0];
  if (reached) makeTabStop(reached);
  document.documentElement.scrollTop = samePlace ? scrolled : 0;
  if (focused?.id === undefined) return;
  const again = Array.from(main.querySelectorAll<HTMLElement>("[data-id]")).find(
    ({ dataset }) => dataset.id === focused.id,
  );
  (again ?? reached ?? main.querySelector<HTMLElement>("button"))?.focus({ preventScroll: true });
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
    const pin = iconButton("pin", pinned ? "Unpin: follow the cursor again" : "Pin to this place", () => {
      send({ type: pinned ? "unpin" : "pin" });
    });
    pin.dataset.id = "pin";
    pin.classList.toggle("on", pinned);
    const buttons = element("div", { className: "buttons" }, pin);
    if (pinned) {
      const refresh = iconButton("refresh", "Refresh", () => {
        send({ type: "refresh" });
      });
      refresh.dataset.id = "refresh";
      buttons.append(refresh);
    }
    const where = element("div", { className: "where" });
    if (pinned) {
      where.append(element("span", { className: "badge", textContent: "Pinned" }));
      const back = element("button", { className: "file link", type: "button", textContent: place.file });
      back.title = "Go to this place";
      back.dataset.id = "place";
      back.addEventListener("click", () => {
        send({ type: "openPlace" });
      });
      where.append(back);
    } else where.append(element("span", { className: "file", textContent: place.file }));
    where.append(element("span", { className: "path", textContent: place.directory }));
    where.title = place.where;
    const title = element("h1", { textContent: place.title });
    title.title = place.title;
    drawn.push(element("header", {}, element("div", { className: "about" }, title, where), buttons));
  }
  if (notice) drawn.push(element("p", { className: "notice", textContent: notice }));
  return drawn;
}

function group({ heading, passages }: GroupContent, at: number): HTMLElement {
  const title = element("h2", { id: `group-${at}`, textContent: heading });
  title.append(
    element("span", { className: "count", ariaHidden: "true", textContent: String(passages.length) }),
  );
  const list = element("ul", {}, ...passages.map(passage));
  // The role is explicit, because some browsers ignore lists without bullets.
  list.setAttribute("role", "list");
  list.setAttribute("aria-labelledby", title.id);
  return element("section", {}, title, list);
}

function passage(content: PassageContent): HTMLElement {
  const { index, id, title, file, line, directory, folder, reasons, snippet, label, tooltip } = content;
  const key = shown?.key ?? "";
  const name = element("span", { className: "title", textContent: title });
  const where = element(
    "span",
    { className: "where" },
    element("span", { className: "file", textContent: `${file}:${line}` }),
    element("span", { className: "path", textContent: [folder, directory].filter(Boolean).join(" • ") }),
  );
  const why = element("span", { className: "reasons", textContent: reasons });
  const code = element("code", { className: "snippet" });
  for (const { pieces, afterGap } of snippet) {
    if (afterGap) code.append(element("span", { className: "gap", textContent: "⋯" }));
    code.append(
      element(
        "span",
        { className: "line" },
        ...pieces.map(({ text, marked }) => (marked ? element("mark", { textContent: text }) : text)),
      ),
    );
  }
  const open = element(
    "button",
    { className: "passage", type: "button", tabIndex: -1 },
    name,
    where,
    why,
    code,
  );
  open.dataset.id = id;
  open.title = tooltip;
  open.ariaLabel = label;
  open.setAttribute("aria-keyshortcuts", "Enter Control+Enter C");
  open.addEventListener("click", (event) => {
    send({ type: "open", key, index, beside: event.ctrlKey || event.metaKey || event.altKey });
  });
  const beside = iconButton("beside", "Open to the side (Ctrl+Enter)", () => {
    send({ type: "open", key, index, beside: true });
  });
  const copy = iconButton("copy", "Copy passage (C)", () => {
    send({ type: "copy", key, index });
  });
  beside.tabIndex = copy.tabIndex = -1;
  return element("li", {}, open, element("div", { className: "buttons" }, beside, copy));
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

function iconButton(icon: keyof typeof ICONS, label: string, clicked: () => void): HTMLButtonElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[icon]);
  svg.append(path);
  const button = element("button", {
    className: `icon ${icon}`,
    type: "button",
    title: label,
    ariaLabel: label,
  });
  button.append(svg);
  button.addEventListener("click", clicked);
  return button;
}

function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Partial<HTMLElementTagNameMap[Tag]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// --- keyboard: all passages are one tab stop

function passages(): HTMLElement[] {
  return Array.from(main.querySelectorAll<HTMLElement>(".passage"));
}

function tabStopIndex(): number {
  return Math.max(
    0,
    passages().findIndex((each) => each.tabIndex === 0),
  );
}

function makeTabStop(stop: HTMLElement): void {
  for (const each of passages()) each.tabIndex = each === stop ? 0 : -1;
}

function keyPressed(event: KeyboardEvent): void {
  const focused = event.target;
  if (!(focused instanceof HTMLElement) || !focused.classList.contains("passage")) return;
  const all = passages();
  const at = all.indexOf(focused);
  const alone = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
  const index = at >= 0 && shown ? shown.groups.flatMap((each) => each.passages)[at]?.index : undefined;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    if (shown && index !== undefined) send({ type: "open", key: shown.key, index, beside: true });
  } else if (!alone) return;
  else if (event.key === "ArrowDown") all[at + 1]?.focus();
  else if (event.key === "ArrowUp") all[at - 1]?.focus();
  else if (event.key === "Home") all[0]?.focus();
  else if (event.key === "End") all.at(-1)?.focus();
  else if (event.key === "c") {
    if (shown && index !== undefined) send({ type: "copy", key: shown.key, index });
  } else return;
  event.preventDefault();
}
