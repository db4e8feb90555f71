// Shows an answer as it is made: each stage that finds other excerpts replaces them, and the whole answer comes last.

import { clearNotice, getFragment, showNotice } from "./base.js";

const article = document.getElementById("answer");
const found = document.getElementById("found");
const progress = document.getElementById("progress");
const budget = document.getElementById("budget");
const tokens = document.getElementById("tokens");
let source;

if (article?.dataset.events) listen(article.dataset.events);

function listen(address) {
  source?.close();
  const events = new EventSource(address);
  source = events;
  found.setAttribute("aria-busy", "true");
  progress.textContent = "Looking for evidence…";
  for (const stage of article.dataset.stages.split(" ")) {
    events.addEventListener(stage, ({ data }) => {
      clearNotice();
      progress.textContent = `${stage.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase())} done…`;
      if (data) put(data);
    });
  }
  events.addEventListener("answer", ({ data }) => end(events, data));
  events.addEventListener("error", (event) => {
    if (event.data !== undefined) end(events, event.data);
    else void away(events, address);
  });
}

function end(events, html) {
  events.close();
  clearNotice();
  progress.textContent = "";
  found.removeAttribute("aria-busy");
  put(html);
}

function put(html) {
  const isShown = found.querySelector("#prompt")?.closest("details")?.open;
  found.innerHTML = html;
  const details = found.querySelector("#prompt")?.closest("details");
  if (isShown && details) details.open = true;
  found.classList.remove("waiting");
}

/** The connection broke. A browser asks again by itself, but not where it was refused. */
async function away(events, address) {
  if (events.readyState !== EventSource.CLOSED) {
    showNotice("The server does not answer. Trying again…");
    return;
  }
  progress.textContent = "";
  // Says why: a session that ended, or a problem with the question.
  const html = await getFragment(address);
  if (source !== events || html === undefined) return;
  if (html) end(events, html);
  else listen(address);
}

budget?.addEventListener("input", () => {
  tokens.textContent = `${Number(budget.value).toLocaleString("en")} tokens`;
});
budget?.addEventListener("change", () => {
  const here = new URL(location.href);
  here.searchParams.set("budget", budget.value);
  here.searchParams.delete("whole");
  history.replaceState(null, "", here);
  found.classList.add("waiting");
  listen(`/ui/answer-events${here.search}`);
});
