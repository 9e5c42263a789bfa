/** A job with keys, which others may have as well. */
type Entrant<J> = { readonly job: J; readonly reject: (error: unknown) => void };

export type KeyLinesOptions<J> = {
  readonly keysOf: (job: J) => readonly string[];
  /**
   * What the end of a job means for those that wait for one of its keys: the error that each of them would get, or undefined for those that
   * may succeed. The job has ended with an error, or well if there is none.
   */
  readonly fateOf?: (ended: J, error?: unknown) => (waiting: J) => unknown;
};

/** Lines of jobs, one for each key. Queues may share them. */
export type KeyLines<J> = {
  /** Puts a job into the lines of its keys. Calls `go` once it is the first in all of them. */
  readonly enter: (entrant: Entrant<J>, go: () => void) => void;
  /** Takes a job that has ended out of its lines: those that it made hopeless are rejected, and the next ones go. */
  readonly leave: (entrant: Entrant<J>, error?: unknown) => void;
};

type Place = { readonly keys: ReadonlySet<string>; readonly go: () => void; ahead: number };

/**
 * Lets jobs with a common key go one after the other, in the order in which they came. A job enters all its lines at once, so no two wait
 * for each other. Nothing is remembered of a job that has ended.
 */
export function keyLines<J>({ keysOf, fateOf }: KeyLinesOptions<J>): KeyLines<J> {
  const lines = new Map<string, Entrant<J>[]>();
  const places = new Map<Entrant<J>, Place>();

  return {
    enter(entrant, go) {
      const place: Place = { keys: new Set(keysOf(entrant.job)), go, ahead: 0 };
      places.set(entrant, place);
      for (const key of place.keys) {
        const line = lines.get(key);
        if (line) line.push(entrant);
        else lines.set(key, [entrant]);
        if (line) place.ahead++;
      }
      if (place.ahead === 0) go();
    },

    leave(ended, error) {
      const place = places.get(ended);
      if (!place) return;
      const behind = othersIn(place, ended);
      const hopeless = behind.length > 0 ? hopelessOf(behind, ended.job, error) : [];
      const next = new Set([ended, ...hopeless.map(([entrant]) => entrant)].flatMap(takeOut));
      for (const [entrant, fate] of hopeless) entrant.reject(fate);
      for (const entrant of next) {
        const its = places.get(entrant);
        if (its?.ahead === 0) its.go();
      }
    },
  };

  function othersIn({ keys }: Place, ended: Entrant<J>): readonly Entrant<J>[] {
    const others = new Set<Entrant<J>>();
    for (const key of keys) for (const entrant of lines.get(key) ?? []) if (entrant !== ended) others.add(entrant);
    return [...others];
  }

  function hopelessOf(waiting: readonly Entrant<J>[], ended: J, error: unknown) {
    const fate = fateOf?.(ended, error);
    return waiting.flatMap((entrant) => {
      const its = fate?.(entrant.job);
      return its === undefined ? [] : [[entrant, its] as const];
    });
  }

  /** Takes an entrant out of all its lines; returns those who are now the first of one. */
  function takeOut(entrant: Entrant<J>): readonly Entrant<J>[] {
    const { keys } = places.get(entrant) ?? { keys: new Set<string>() };
    places.delete(entrant);
    return [...keys].flatMap((key) => {
      const line = lines.get(key) ?? [];
      const at = line.indexOf(entrant);
      line.splice(at, 1);
      const [first] = line;
      if (!first) lines.delete(key);
      if (!first || at > 0) return [];
      const its = places.get(first);
      if (its) its.ahead--;
      return [first];
    });
  }
}
