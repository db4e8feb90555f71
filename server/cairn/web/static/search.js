// Searches while the user types: the last keystroke wins, and the address always contains the whole question.

import { copyText, getFragment, isTyping, showNotice } from "./base.js";

const box = document.getElementById("q");
const results = document.getElementById("results");
let asking = new AbortController();
let shown = new URLSearchParams(location.search).get("q")?.trim() ?? "";
let isEntered = true; // The next letter adds an entry to the history; the letters after it replace the entry.

box.addEventListener("input", () => ask(box.value.trim()));
ask(box.value.trim()); // The user may have typed before this script was loaded.
addEventListener("popstate", () => {
  box.value = new URLSearchParams(location.search).get("q") ?? "";
  isEntered = true;
  void show(location.href, box.value.trim());
});
box.form.addEventListener("submit", (event) => {
  if (event.submitter?.hasAttribute("formaction")) return;
  event.preventDefault();
  history.replaceState(null, "", address(box.value.trim()));
  isEntered = true;
  void show(location.href, box.value.trim());
});

function ask(text) {
  if (text === shown) return;
  if (isEntered) history.pushState(null, "", address(text));
  else history.replaceState(null, "", address(text));
  isEntered = false;
  void show(location.href, text);
}

/** Return this page's address with another question. */
function address(text) {
  const values = new URLSearchParams(location.search);
  values.delete("limit");
  if (text) values.set("q", text);
  else values.delete("q");
  const query = values.toString();
  return query ? `${location.pathname}?${query}` : location.pathname;
}

async function show(href, text) {
  shown = text;
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  results.classList.add("waiting");
  const html = await getFragment(href, signal);
  if (signal.aborted) return;
  results.classList.remove("waiting");
  if (html === undefined) return;
  results.innerHTML = html;
  document.title = `${text || "Search"} · Cairn`;
}

// --- keys: down and up move through the results, Esc moves back to the box ---

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const titles = Array.from(results.querySelectorAll(".title"));
  const at = titles.indexOf(document.activeElement);
  if (event.key === "ArrowDown" && (at >= 0 || event.target === box)) go(event, titles[at + 1]);
  else if (event.key === "ArrowUp" && at >= 0) go(event, titles[at - 1] ?? box);
  else if (event.key === "Escape") back(event);
  else if (at >= 0 && !isTyping(event.target)) act(event, titles[at]);
});

function go(event, target) {
  event.preventDefault();
  target?.focus();
  target?.closest(".row")?.scrollIntoView({ block: "nearest" });
}

function back(event) {
  if (event.target !== box) {
    box.focus();
    box.select();
  } else if (box.value) {
    event.preventDefault();
    box.value = "";
    ask("");
  }
}

async function act(event, title) {
  if (event.key === "c") {
    const done = await copyText(title.dataset.label);
    showNotice(done ? "Copied." : "Not copied.");
    setTimeout(() => showNotice(""), 1200);
  } else if (event.key === "o" && title.dataset.editor) location.href = title.dataset.editor;
}
