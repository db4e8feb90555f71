// Draws a passage of the context panel, and the reasons why it is shown.

import type { PassageContent, SnippetLine } from "../panel/messages.ts";
import { element, fileWithLines, iconButton } from "./elements.ts";

export interface PassageActions {
  open(beside: boolean): void;
  copy(): void;
  /** Show the reasons, or hide them. */
  explain(): void;
}

export function passageItem(content: PassageContent, actions: PassageActions): HTMLElement {
  const { id, title, file, line, directory, folder, reasons, label, tooltip } = content;
  const where = element(
    "span",
    { className: "where" },
    element("span", { className: "file" }, ...fileWithLines(`${file}:${line}`)),
    element("span", { className: "path", textContent: [folder, directory].filter(Boolean).join(" • ") }),
  );
  const open = element(
    "button",
    { className: "passage", type: "button", title: tooltip, ariaLabel: label },
    element("span", { className: "title", textContent: title }),
    where,
    element("span", { className: "reasons", textContent: reasons }),
    snippet(content.snippet),
  );
  open.dataset.id = id;
  open.setAttribute("aria-keyshortcuts", "Enter Control+Enter C W");
  open.addEventListener("click", (event) => {
    actions.open(event.ctrlKey || event.metaKey || event.altKey);
  });
  const why = iconButton("why", "Why? (W)", () => {
    actions.explain();
  });
  why.ariaExpanded = "false";
  const beside = iconButton("beside", "Open to the side (Ctrl+Enter)", () => {
    actions.open(true);
  });
  const copy = iconButton("copy", "Copy passage (C)", () => {
    actions.copy();
  });
  for (const [name, button] of Object.entries({ why, beside, copy })) button.dataset.id = `${name} ${id}`;
  return element("li", {}, open, element("div", { className: "buttons" }, why, beside, copy));
}

function snippet(lines: readonly SnippetLine[]): HTMLElement {
  const code = element("code", { className: "snippet" });
  for (const { pieces, afterGap } of lines) {
    if (afterGap) code.append(element("span", { className: "gap", textContent: "⋯" }));
    const drawn = pieces.map(({ text, marked }) => (marked ? element("mark", { textContent: text }) : text));
    code.append(element("span", { className: "line" }, ...drawn));
  }
  return code;
}

export function showReasons(item: HTMLElement, { index, title, why }: PassageContent): void {
  const shown = element("div", { className: "why-shown", id: `why-${index}` });
  shown.setAttribute("role", "group");
  shown.ariaLabel = `Why ${title} is shown`;
  const reasons = why.map(({ words, score }) =>
    element("li", {}, words, ...(score ? [element("span", { className: "score", textContent: score })] : [])),
  );
  const list = element("ul", {}, ...reasons);
  list.setAttribute("role", "list");
  shown.append(list);
  item.append(shown);
  const opener = item.querySelector<HTMLElement>(".why");
  if (opener) opener.ariaExpanded = "true";
  opener?.setAttribute("aria-controls", shown.id);
}

export function hideReasons(item: HTMLElement): void {
  item.querySelector(".why-shown")?.remove();
  const opener = item.querySelector<HTMLElement>(".why");
  if (opener) opener.ariaExpanded = "false";
  opener?.removeAttribute("aria-controls");
}
