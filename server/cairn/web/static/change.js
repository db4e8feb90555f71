// Keys that move from hunk to hunk.

import { isTyping } from "./base.js";

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (event.key !== "j" && event.key !== "k") return;
  const hunks = Array.from(document.querySelectorAll(".hunk"));
  const at = placeOf(document.activeElement, hunks);
  const next = event.key === "j" ? hunks[Math.floor(at) + 1] : hunks[Math.ceil(at) - 1];
  if (next) go(next);
});

/** Return the index of the hunk with the element, or between two indexes if it is between two hunks. */
function placeOf(element, hunks) {
  if (!element || element === document.body) return -0.5;
  const inside = hunks.findIndex((hunk) => hunk.contains(element));
  if (inside >= 0) return inside;
  const after = hunks.findIndex(
    (hunk) => element.compareDocumentPosition(hunk) & Node.DOCUMENT_POSITION_FOLLOWING,
  );
  return (after < 0 ? hunks.length : after) - 0.5;
}

function go(hunk) {
  hunk.closest("details").open = true;
  hunk.scrollIntoView({ block: "start" });
  hunk.querySelector("h3 > *").focus({ preventScroll: true });
}
