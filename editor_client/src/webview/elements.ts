// Makes the elements of the context panel.

const SVG = "http://www.w3.org/2000/svg";
/** Outlines of icons on a grid of 16. */
const ICONS = {
  pin: "M5.5 2.5h5M6.5 2.5v4l-2 3h7l-2-3v-4M8 9.5v4.5",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  refresh: "M13 8a5 5 0 1 1-1.5-3.6M13.5 2v3h-3",
  beside: "M2.5 3.5h11v9h-11zM8 3.5v9",
  back: "M7 3.5 2.5 8 7 12.5M2.5 8h11",
  forward: "M9 3.5 13.5 8 9 12.5M13.5 8h-11",
  why: "M5.5 6a2.5 2.5 0 1 1 3.4 2.3C8.3 8.6 8 9 8 9.7v.8M8 12.4v1",
  chevron: "M6 3.5 10.5 8 6 12.5",
};
export type Icon = keyof typeof ICONS;

export function icon(name: Icon): SVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

export function iconButton(name: Icon, label: string, clicked: () => void): HTMLButtonElement {
  const properties = { className: `icon ${name}`, type: "button", title: label, ariaLabel: label } as const;
  const button = element("button", properties, icon(name));
  button.addEventListener("click", clicked);
  return button;
}

export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Partial<HTMLElementTagNameMap[Tag]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** A file name with its lines, such as `app.py:10-12`. If room is scarce, the name is cut, not the lines. */
export function fileWithLines(text: string): HTMLElement[] {
  const end = text.lastIndexOf(":");
  return [
    element("span", { className: "base", textContent: text.slice(0, end) }),
    element("span", { className: "lines", textContent: text.slice(end) }),
  ];
}
