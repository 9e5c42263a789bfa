/** The bounds of a figure. */
export type Goal = { readonly least: number } | { readonly most: number };

/** A row of a result. */
export type Row = {
  /** The operation. */
  readonly subject: string;
  /** The server or load that ran it. */
  readonly who: string;
  readonly figures: Readonly<Record<string, number>>;
  /** Bounds of some figures. */
  readonly goals?: Readonly<Record<string, Goal>>;
  /** A note, such as the reason for missing figures. */
  readonly note?: string;
};

/** Makes a row; missing figures are left out. */
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

/** Whether a line misses one of its goals. */
export const isMissed = (line: Row): boolean => verdictsOf(line).some(({ met }) => !met);

/** Whether the goals of a line are met, and its note. */
function remarkOf(line: Row): string {
  const all = verdictsOf(line);
  // Of many goals only the missed ones are listed.
  const shown = all.length > mostShown ? all.filter(({ met }) => !met) : all;
  const verdicts = shown.map(({ name, word, bound, met }) => `${name} ${word} ${bound}: ${met ? "met" : "MISSED"}`);
  const rest = all.length > 0 && shown.length === 0 ? ["met"] : [];
  return [...verdicts, ...rest, ...(line.note ? [line.note] : [])].join("; ");
}

const mostShown = 2;

function verdictsOf({ figures, goals = {} }: Row) {
  return Object.entries(goals).flatMap(([name, goal]) => {
    const figure = figures[name];
    if (figure === undefined) return [];
    if ("least" in goal) return [{ name, word: "at least", bound: goal.least, met: figure >= goal.least }];
    return [{ name, word: "at most", bound: goal.most, met: figure <= goal.most }];
  });
}
