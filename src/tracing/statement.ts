/** The operation and the summary of a statement, without its values: `SELECT` and `SELECT users login_names`. */
export type Summary = { readonly operation: string; readonly summary: string };

/** Summarizes statements; each text is parsed once. */
export function summaries(): (text: string) => Summary {
  const known = new Map<string, Summary>();
  return (text) => {
    const before = known.get(text);
    if (before) return before;
    const made = summaryOf(text);
    if (known.size < mostKept) known.set(text, made);
    return made;
  };
}

const mostKept = 2000;
// OpenTelemetry limits a summary to this length.
const longest = 255;

function summaryOf(text: string): Summary {
  const own = new Set([...text.matchAll(/(\w+) as (?:materialized )?\(/g)].map(([, name]) => name));
  const named = (pattern: RegExp) =>
    [...text.matchAll(pattern)].flatMap(([, verb = "", table = ""]) =>
      own.has(table) || noTable.test(table) ? [] : [{ verb: verb.split(" ", 1)[0]?.toUpperCase() ?? "", table }],
    );
  const writes = named(/\b(insert into|update|delete from) (\w+)/g);
  const reads = named(/\b(from|join) (\w+)/g);
  const operation = writes[0]?.verb ?? "SELECT";
  const tables = new Set((writes.length > 0 ? writes : reads).map(({ table }) => table));
  return { operation, summary: [operation, ...tables].join(" ").slice(0, longest) };
}

const noTable = /^(of|set|skip|lateral|select|unnest|only|\w+_to_recordset|\w+_elements)$/;
