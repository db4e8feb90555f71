// The rows of the search palette, as a user sees them.

import { eventually } from "./eventually.ts";
import type { Row, Workbench } from "./workbench.ts";

/** The palette's rows that are results: those that name a place. */
export async function resultsShown(workbench: Workbench): Promise<Row[]> {
  return (await workbench.rows()).filter(namesPlace);
}

/** Search, and move to a row, so that the editor shows it. */
export async function showSecondRow(workbench: Workbench, typed: string): Promise<void> {
  const tab = await workbench.activeTab();
  const input = await workbench.asked("Cairn: Search");
  await input.fill(typed);
  await eventually("rows", async () => (await resultsShown(workbench)).length > 3);
  await workbench.page.keyboard.press("ArrowDown");
  await eventually("a result is shown", async () => (await workbench.activeTab()) !== tab);
}

export function namesPlace({ description }: Row): boolean {
  return /:\d+$/.test(description);
}
