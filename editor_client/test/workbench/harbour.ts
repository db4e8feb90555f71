// A small project with code, a test and a document about one thing.

const TUG = `/** Pulls ships. */
export class Tug {
  pull(ship: string): string {
    return ship;
  }
}

export function tow(ship: string): string {
  return new Tug().pull(ship);
}
`;
export const HARBOUR: Readonly<Record<string, string>> = {
  "harbour/berths.py": `"""Berths of the port."""


class Berth:
    """A place where one ship at a time can be moored."""

    def moor_ship(self, ship):
        """Moor a ship here."""
        self.ship = ship


def free_berths(berths):
    """Return the berths without a ship."""
    return [berth for berth in berths if berth.ship is None]
`,
  "harbour/schedule.py": `from harbour.berths import Berth, free_berths


def assign_berths(ships, berths):
    for ship, berth in zip(ships, free_berths(berths)):
        Berth.moor_ship(berth, ship)
`,
  "tests/test_berths.py": `from harbour.berths import Berth


def test_a_ship_is_moored():
    Berth().moor_ship("Ada")
`,
  "docs/berths.md": `# Berths

A berth is a place where one ship can be moored. \`moor_ship\` moors a ship there until it leaves.
`,
  "src/tug.ts": TUG,
};
