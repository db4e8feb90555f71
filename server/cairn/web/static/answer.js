// Shows an answer while it is made: each stage may replace the excerpts, and the whole answer comes last.

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
      const name = stage.replaceAll("_", " ");
      progress.textContent = `${name[0].toUpperCase()}${name.slice(1)} done…`;
      if (data) put(data);
    });
  }
  events.addEventListener("answer", ({ data }) => end(events, data));
  events.addEventListener("error", (event) => {
    if (event.data !== undefined) end(events, event.data);
    else void handleBreak(events, address);
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

/** Handle a broken connection. The browser connects again, unless the server refused its request. */
async function handleBreak(events, address) {
  if (events.readyState !== EventSource.CLOSED) {
    showNotice("The server does not answer. Trying again…");
    return;
  }
  progress.textContent = "";
  // The fragment explains the refusal: the session has ended, or the question is wrong.
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
