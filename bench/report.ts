/** What a figure should be. */
export type Goal = { readonly least: number } | { readonly most: number };

/** One line of a result. */
export type Row = {
  /** What was done. */
  readonly subject: string;
  /** Who did it. */
  readonly who: string;
  readonly figures: Readonly<Record<string, number>>;
  /** What some of the figures should be. */
  readonly goals?: Readonly<Record<string, Goal>>;
  /** What else is to be said, such as why there are no figures. */
  readonly note?: string;
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
    ["", "", ...names, ""],
    ...rows.map((one) => [one.subject, one.who, ...names.map((name) => `${one.figures[name] ?? ""}`), remarkOf(one)]),
  ];
  const widths = cells[0]?.map((_, at) => Math.max(...cells.map((line) => line[at]?.length ?? 0))) ?? [];
  const isText = (at: number) => at < 2 || at === widths.length - 1;
  const padded = (cell: string, at: number) =>
    isText(at) ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0);
  return cells.map((line) => line.map(padded).join("  ").trimEnd()).join("\n");
}

/** Whether the goals of a line are met, and its note. */
function remarkOf({ figures, goals = {}, note }: Row): string {
  const verdicts = Object.entries(goals).flatMap(([name, goal]) => {
    const figure = figures[name];
    if (figure === undefined) return [];
    const [word, bound, met] =
      "least" in goal ? ["at least", goal.least, figure >= goal.least] : ["at most", goal.most, figure <= goal.most];
    return [`${name} ${word} ${bound}: ${met ? "met" : "MISSED"}`];
  });
  return [...verdicts, ...(note ? [note] : [])].join("; ");
}
