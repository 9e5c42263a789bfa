import type { Note } from "./import_note.ts";
import type { ItemKind } from "./item.ts";
import type { Outcome } from "./outcome.ts";

type Row = { made: number; there: number; changed: number; lost: number; refused: number };

/** The summary of an import: the outcomes of the items of each kind. */
export type Report = {
  /** Counts an item, or a part of the export that is not an item. */
  readonly count: (kind: ItemKind, outcome: Outcome | undefined, notes: readonly Note[]) => void;
  /** The table, followed by the reasons with their counts. */
  readonly lines: () => readonly string[];
};

const labels = {
  user: "users",
  project: "projects",
  application: "applications",
  apiApplication: "APIs",
  grant: "grants",
} as const satisfies Record<ItemKind, string>;

/** The columns of the table, with their headings. */
const columns = [
  ["made", "created"],
  ["there", "existing"],
  ["changed", "changed"],
  ["lost", "lost"],
  ["refused", "refused"],
] as const satisfies readonly (readonly [keyof Row, string])[];
const empty = (): Row => ({ made: 0, there: 0, changed: 0, lost: 0, refused: 0 });

export function openReport(): Report {
  const rows = new Map<ItemKind, Row>();
  const reasons = new Map<string, { readonly kind: ItemKind; readonly note: Note; count: number }>();

  return {
    count(kind, outcome, notes) {
      const row = rows.get(kind) ?? empty();
      rows.set(kind, row);
      if (outcome !== undefined) row[typeof outcome === "string" ? outcome : "refused"] += 1;
      for (const became of ["changed", "lost"] as const)
        if (notes.some((note) => note.became === became)) row[became] += 1;
      for (const note of notes) {
        const key = JSON.stringify([kind, note]);
        const reason = reasons.get(key) ?? { kind, note, count: 0 };
        reason.count += 1;
        reasons.set(key, reason);
      }
    },

    lines: () => [...table(rows), ...reasonsOf("changed"), ...reasonsOf("lost")],
  };

  function reasonsOf(became: Note["became"]): string[] {
    const found = [...reasons.values()].filter(({ note }) => note.became === became);
    const lines = found.map(({ kind, note, count }) => `  ${labels[kind]}, ${count}: ${note.what}`);
    return lines.length === 0 ? [] : [`${became}:`, ...lines];
  }
}

function table(rows: ReadonlyMap<ItemKind, Row>): string[] {
  if (rows.size === 0) return [];
  const line = (label: string, cells: readonly (string | number)[]) =>
    [label.padEnd(13), ...cells.map((cell) => String(cell).padStart(9))].join("");
  return [
    line(
      "",
      columns.map(([, heading]) => heading),
    ),
    ...[...rows].map(([kind, row]) =>
      line(
        labels[kind],
        columns.map(([name]) => row[name]),
      ),
    ),
  ];
}
