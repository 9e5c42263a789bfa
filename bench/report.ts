/** One line of a result. */
export type Row = {
  /** What was done. */
  readonly subject: string;
  /** Who did it. */
  readonly who: string;
  readonly figures: Readonly<Record<string, number>>;
};

/** Makes a line; figures that are not there are left out. */
export function row(subject: string, who: string, figures: Readonly<Record<string, number | undefined>>): Row {
  const there = Object.entries(figures).filter((pair): pair is [string, number] => Number.isFinite(pair[1]));
  return { subject, who, figures: Object.fromEntries(there) };
}

/** The lines as a table of text. */
export function tableOf(rows: readonly Row[]): string {
  const names = [...new Set(rows.flatMap(({ figures }) => Object.keys(figures)))];
  const cells = [
    ["", "", ...names],
    ...rows.map(({ subject, who, figures }) => [subject, who, ...names.map((name) => `${figures[name] ?? ""}`)]),
  ];
  const widths = cells[0]?.map((_, at) => Math.max(...cells.map((line) => line[at]?.length ?? 0))) ?? [];
  const padded = (cell: string, at: number) => (at < 2 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0));
  return cells.map((line) => line.map(padded).join("  ").trimEnd()).join("\n");
}
