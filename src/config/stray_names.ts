// Shorter names are too similar to those of other programs: HOME is two letters from HOST, SSL_CERT_FILE from TLS_CERT_FILE.
const leastLength = 6;
const longEnoughForTwo = 12;

const prefix = "POSTERN_";

/**
 * Warnings about environment variables that look like settings but are not: unknown names that start with POSTERN_, and misspelled ones.
 */
export function strayNames(env: Readonly<Record<string, string | undefined>>, names: readonly string[]): string[] {
  const known = new Set(names);
  return Object.entries(env).flatMap(([name, value = ""]) => {
    if (known.has(name) || value === "" || isOfKubernetes(name, value)) return [];
    const meant = nearest(name, names);
    if (meant !== undefined) return [`${name} is not a setting and has no effect: did you mean ${meant}?`];
    return name.startsWith(prefix) ? [`${name} is not a setting and has no effect`] : [];
  });
}

// Kubernetes sets these variables for a Service called postern.
const isOfKubernetes = (name: string, value: string) =>
  /^POSTERN_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/.test(name) ||
  (/^POSTERN_(\w+_)?PORT$/.test(name) && /^(tcp|udp|sctp):\/\//.test(value));

function nearest(name: string, names: readonly string[]): string | undefined {
  const bare = name.startsWith(prefix) ? name.slice(prefix.length) : undefined;
  if (bare !== undefined && names.includes(bare)) return bare;
  return names.find((one) => isNear(name, one)) ?? names.find((one) => bare !== undefined && isNear(bare, one));
}

function isNear(name: string, setting: string): boolean {
  const most = setting.length >= longEnoughForTwo ? 2 : 1;
  if (setting.length < leastLength || Math.abs(name.length - setting.length) > most) return false;
  const upper = name.toUpperCase();
  // A pod has hundreds of variables, each compared with a hundred settings, and most differ in more letters than allowed.
  if (lettersOnlyIn(upper, setting) > most) return false;
  const found = distance(upper, setting);
  return found <= 1 || (found <= most && upper[0] === setting[0]);
}

/** The number of letters in a name that do not occur in another, each of which counts as a difference. */
function lettersOnlyIn(one: string, other: string): number {
  let only = 0;
  for (const letter of one) if (!other.includes(letter)) only += 1;
  return only;
}

/** The number of letters that are missing, extra, wrong, or swapped with the next. */
function distance(one: string, other: string): number {
  let [beforeLast, last]: [number[], number[]] = [[], Array.from({ length: other.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= one.length; row++) {
    const next = [row];
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      const changed = (last[column - 1] ?? 0) + (isSame ? 0 : 1);
      const swapped = isSwapped ? (beforeLast[column - 2] ?? Number.POSITIVE_INFINITY) + 1 : Number.POSITIVE_INFINITY;
      next.push(Math.min(changed, swapped, (last[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    [beforeLast, last] = [last, next];
  }
  return last[other.length] ?? 0;
}
