// A file: marks lines, selects one, and fetches the panel about it.

import { copyText, getFragment, showNotice } from "./base.js";

const WAIT_MS = 150;
const NARROW = "(max-width: 64rem)";
const FEW = 15;

const file = document.getElementById("file");
const code = document.getElementById("code");
const panel = document.getElementById("panel");
const outline = Array.from(document.querySelectorAll("#outline a"));
const isPartial = document.getElementById("outline")?.hasAttribute("data-partial");
let marked = fromAddress();
let cursor = 0;
let shownFor = "";
let asking = new AbortController();
let timer = 0;
let current;
let inside = [];

// --- lines ---

function lineOf(number) {
  return document.getElementById(`L${number}`)?.parentElement;
}

/** Scroll the box to an element, without scrolling the page. */
function reveal(element, box, block) {
  const [inner, outer] = [element.getBoundingClientRect(), box.getBoundingClientRect()];
  const room = box.clientHeight - inner.height;
  const above = inner.top - outer.top - box.clientTop;
  if (block === "nearest" && above >= 0 && above <= room) return;
  const nearest = above < 0 ? 0 : room;
  const wanted = { start: Math.min(inner.height * 3, room), center: room / 2, nearest }[block];
  box.scrollTop += above - wanted;
}

function numberOf(target) {
  const line = target instanceof Element ? target.closest(".line") : null;
  return line && code.contains(line) ? Number(line.firstElementChild.textContent) : 0;
}

/** Return the first line that is not blank, since passages begin with blank lines. */
function firstLine({ first, last }) {
  for (let number = first; number <= last && lineOf(number); number++) {
    if (lineOf(number).lastElementChild.textContent.trim()) return number;
  }
  return first;
}

function fromAddress() {
  const match = /^(\d+)(?:-(\d+))?$/.exec(new URLSearchParams(location.search).get("lines") ?? "");
  if (!match) return undefined;
  const [first, last] = [Number(match[1]), Number(match[2] ?? match[1])].sort((a, b) => a - b);
  return { first, last, anchor: first };
}

/** Mark the lines between two, also in the address. */
function mark(anchor, to) {
  marked = { first: Math.min(anchor, to), last: Math.max(anchor, to), anchor };
  for (const line of code.querySelectorAll(".line.marked")) line.classList.remove("marked");
  for (let number = marked.first; number <= marked.last; number++) lineOf(number)?.classList.add("marked");
  const values = new URLSearchParams(location.search);
  values.delete("panel");
  values.set("lines", marked.first === marked.last ? `${marked.first}` : `${marked.first}-${marked.last}`);
  history.replaceState(null, "", `${location.pathname}?${values}`);
  const box = document.querySelector(".to-line input");
  if (box) box.value = values.get("lines");
}

/** Select a line and show the panel about it. */
function choose(number, scroll = "nearest") {
  const line = lineOf(number);
  if (!line) return;
  lineOf(cursor)?.classList.remove("cursor");
  cursor = number;
  line.classList.add("cursor");
  if (scroll) reveal(line, code, scroll);
  const copy = document.getElementById("copy");
  if (copy) copy.dataset.copy = place();
  const editor = document.getElementById("editor");
  if (editor) editor.href = `${file.dataset.editor}:${number}`;
  const entry = follow(number);
  const { first, last } = entry?.dataset ?? {};
  const wanted = entry && !isPartial ? `${first}-${last} ${entry.textContent}` : `line ${number}`;
  clearTimeout(timer);
  if (wanted === shownFor) {
    asking.abort();
    panel.classList.remove("waiting");
    return;
  }
  timer = setTimeout(() => void ask(number, wanted), shownFor ? WAIT_MS : 0);
}

function place() {
  return `${file.dataset.path}:${cursor || 1}`;
}

code.addEventListener("click", (event) => {
  const number = numberOf(event.target);
  if (!number || event.ctrlKey || event.metaKey) return;
  if (event.target.closest(".number")) {
    event.preventDefault();
    mark(event.shiftKey ? (marked?.anchor ?? cursor) || number : number, number);
    choose(number, "");
    code.focus({ preventScroll: true });
  } else if (getSelection()?.isCollapsed !== false) choose(number, "");
});

code.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { ArrowDown: 1, j: 1, J: 1, ArrowUp: -1, k: -1, K: -1 }[event.key];
  if (step) {
    event.preventDefault();
    const from = cursor || (marked?.first ?? firstInSight());
    const to = cursor ? from + step : from;
    if (!lineOf(to)) return;
    if (event.shiftKey) mark(marked && cursor ? marked.anchor : from, to);
    choose(to);
  } else if (event.key === "Enter" && cursor) {
    event.preventDefault();
    mark(cursor, cursor);
  } else if (event.key === "c" && cursor) void copyPlace();
});

function firstInSight() {
  const box = code.getBoundingClientRect();
  return numberOf(document.elementFromPoint(box.left + 5, Math.max(box.top, 0) + 15)) || 1;
}

async function copyPlace() {
  const done = await copyText(place());
  showNotice(done ? "Copied." : "Not copied.");
  setTimeout(() => showNotice(""), 1200);
}

// --- panel ---

async function ask(number, wanted) {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const address = new URL(file.dataset.panel, location.href);
  if (number) address.searchParams.set("line", number);
  if (!document.getElementById("known")) address.searchParams.set("history", "1");
  panel.classList.add("waiting");
  const html = await getFragment(address, signal);
  if (signal.aborted) return;
  panel.classList.remove("waiting");
  if (html === undefined) return;
  const parts = document.createElement("template");
  parts.innerHTML = html;
  const known = parts.content.getElementById("known") ?? document.getElementById("known");
  panel.replaceChildren(...parts.content.childNodes);
  if (known) panel.append(known);
  shownFor = wanted;
}

// --- outline ---

/** Highlight the outline's entry around a line, and the entry's lines; return the entry. */
function follow(number) {
  let found;
  for (const entry of outline) {
    entry.removeAttribute("aria-current");
    if (Number(entry.dataset.first) <= number && number <= Number(entry.dataset.last)) found = entry;
  }
  found?.setAttribute("aria-current", "true");
  if (found === current) return found;
  for (const line of inside) line.classList.remove("inside");
  [current, inside] = [found, []];
  if (!found) return undefined;
  const box = found.closest("#outline");
  if (box.open) reveal(found, found.closest("nav"), "nearest");
  for (let n = Number(found.dataset.first); n <= Number(found.dataset.last); n++) {
    const line = lineOf(n);
    if (!line) break;
    line.classList.add("inside");
    inside.push(line);
  }
  return found;
}

for (const entry of outline) {
  entry.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const line = Number(entry.dataset.line ?? entry.dataset.first);
    mark(line, line);
    choose(line, "start");
    code.focus({ preventScroll: true });
  });
}

const narrow = document.getElementById("narrow");
if (narrow && outline.length > FEW) {
  narrow.hidden = false;
  narrow.addEventListener("input", () => {
    const typed = narrow.value.trim().toLowerCase();
    for (const entry of outline) entry.parentElement.hidden = !entry.title.toLowerCase().includes(typed);
  });
}
if (matchMedia(NARROW).matches) document.getElementById("outline")?.removeAttribute("open");

document.querySelector(".to-line")?.addEventListener("submit", (event) => {
  const [first, last] = event.target.elements.lines.value.split("-").map(Number);
  if (!lineOf(first)) return;
  event.preventDefault();
  mark(first, lineOf(last) ? last : first);
  choose(first, "center");
  code.focus({ preventScroll: true });
});

// --- start ---

if (marked && lineOf(marked.first)) {
  reveal(lineOf(marked.first), code, marked.last - marked.first > 20 ? "start" : "center");
  choose(firstLine(marked), "nearest");
} else void ask(0, "");
