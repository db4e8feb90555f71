// The rows of the context panel: the headings of sections and their passages. The keyboard moves through them
// as through a list: they are one tab stop, and after it come the buttons of the current row.

/** All rows that are not folded. */
export function rows(main: HTMLElement): HTMLElement[] {
  return Array.from(main.querySelectorAll<HTMLElement>(".heading, section > :not([hidden]) .passage"));
}

/** The id and index of the tab stop. */
export function tabStop(main: HTMLElement): { readonly id: string; readonly index: number } | undefined {
  const all = rows(main);
  const index = all.findIndex((row) => row.tabIndex === 0);
  const id = all[index]?.dataset.id;
  return id === undefined ? undefined : { id, index };
}

export function makeTabStop(main: HTMLElement, stop: HTMLElement): void {
  const current = stop.closest("li, .top");
  for (const button of main.querySelectorAll<HTMLElement>("section button")) {
    button.tabIndex = button.closest("li, .top") === current ? 0 : -1;
  }
}

/** The row to which a key moves; undefined for other keys, and at the ends. */
export function moved(main: HTMLElement, from: HTMLElement, key: string): HTMLElement | undefined {
  const all = rows(main);
  const at = all.indexOf(from);
  switch (key) {
    case "ArrowDown":
      return all[at + 1];
    case "ArrowUp":
      return all[at - 1];
    case "ArrowRight":
      return from.classList.contains("heading") ? all[at + 1] : undefined;
    case "ArrowLeft":
      return all.slice(0, at).findLast((row) => row.classList.contains("heading"));
    case "Home":
      return all[0];
    case "End":
      return all.at(-1);
    default:
      return undefined;
  }
}
