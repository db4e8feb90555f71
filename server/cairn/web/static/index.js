// Looks again while the page is visible, often while something is going on, and changes only what is different.

import { getFragment, later } from "./base.js";

const page = document.getElementById("index");
const shown = new Map(Array.from(page.querySelectorAll("[data-part]"), (each) => [each, each.innerHTML]));

void watch();

async function watch() {
  for (;;) {
    await later(Number(part(page, "health").dataset.again));
    await visible();
    const html = await getFragment(location.href);
    if (html === undefined) return; // the session has ended, which the notice says
    const fresh = document.createElement("template");
    fresh.innerHTML = html;
    if (!part(fresh.content, "health")) continue; // a problem of the moment
    for (const now of fresh.content.querySelectorAll("[data-part]")) put(now);
  }
}

function part(root, name) {
  return root.querySelector(`[data-part="${name}"]`);
}

/** Put a part in the place of the one before, where they differ. What was opened stays open, and the focus stays. */
function put(now) {
  const before = part(page, now.dataset.part);
  if (!before) return;
  if (before.dataset.again !== now.dataset.again) before.dataset.again = now.dataset.again;
  const html = now.innerHTML;
  if (shown.get(before) === html) return;
  const focused = before.contains(document.activeElement) ? nameOf(document.activeElement) : undefined;
  const open = new Set(Array.from(before.querySelectorAll("details[open]"), (details) => details.dataset.key));
  const scrolled = Array.from(before.querySelectorAll(".scrolls"), (box) => box.scrollLeft);
  shown.set(before, html);
  before.innerHTML = html;
  for (const details of before.querySelectorAll("details")) details.open = open.has(details.dataset.key);
  before.querySelectorAll(".scrolls").forEach((box, at) => (box.scrollLeft = scrolled[at] ?? 0));
  if (focused === undefined) return;
  const places = Array.from(before.querySelectorAll("a:not(svg a), summary, [tabindex='0']"));
  places.find((place) => nameOf(place) === focused)?.focus({ preventScroll: true });
}

/** What tells a place that can have the focus from others, though its figures change. */
function nameOf(place) {
  return `${place.localName} ${place.getAttribute("href") ?? place.parentElement.dataset.key ?? place.getAttribute("aria-label")}`;
}

function visible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
}
