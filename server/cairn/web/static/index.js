// Updates the page while it is visible, more often during changes, and replaces only the parts that differ.

import { getFragment, later } from "./base.js";

const page = document.getElementById("index");
const shown = new Map(Array.from(page.querySelectorAll("[data-part]"), (each) => [each, each.innerHTML]));

void watch();

async function watch() {
  for (;;) {
    await later(Number(part(page, "health").dataset.again));
    await visible();
    const html = await getFragment(location.href);
    if (html === undefined) return; // The session has ended.
    const fresh = document.createElement("template");
    fresh.innerHTML = html;
    if (!part(fresh.content, "health")) continue; // The fragment is an error message.
    for (const now of fresh.content.querySelectorAll("[data-part]")) put(now);
  }
}

function part(root, name) {
  return root.querySelector(`[data-part="${name}"]`);
}

/** Replace a part if it differs, and keep open details, scroll positions and the focus. */
function put(now) {
  const before = part(page, now.dataset.part);
  if (!before) return;
  if (before.dataset.again !== now.dataset.again) before.dataset.again = now.dataset.again;
  const html = now.innerHTML;
  if (shown.get(before) === html) return;
  const focused = before.contains(document.activeElement) ? nameOf(document.activeElement) : undefined;
  const open = new Set(Array.from(before.querySelectorAll("details[open]"), ({ dataset }) => dataset.key));
  const scrolled = Array.from(before.querySelectorAll(".scrolls"), (box) => box.scrollLeft);
  shown.set(before, html);
  before.innerHTML = html;
  for (const details of before.querySelectorAll("details")) details.open = open.has(details.dataset.key);
  before.querySelectorAll(".scrolls").forEach((box, at) => (box.scrollLeft = scrolled[at] ?? 0));
  if (focused === undefined) return;
  const places = Array.from(before.querySelectorAll("a:not(svg a), summary, [tabindex='0']"));
  places.find((place) => nameOf(place) === focused)?.focus({ preventScroll: true });
}

/** Return a name of a focusable element that stays the same when its figures change. */
function nameOf(place) {
  const href = place.getAttribute("href");
  return `${place.localName} ${href ?? place.parentElement.dataset.key ?? place.getAttribute("aria-label")}`;
}

function visible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
}
