import { noShare, type Share, unknownCallers } from "./turns.ts";

// The maximum number that a group, and a network of unknown callers, may hold for each place that stays free.
const timesFree = { group: 3, network: 1 };

/**
 * Counts how many of a limited number of places each share holds. A group may hold at most three times as many as it leaves free: three
 * quarters of all, if it is alone. So there is a place for a group that comes later, even if the holders of the others never give them
 * back. Of the places that the unknown callers hold, a network takes at most as many as stay free. The process itself is not limited.
 */
export class Parts {
  readonly #groups = new Map<string, number>();
  readonly #networks = new Map<string, number>();
  #held = 0;

  /** The number of places taken. */
  get held(): number {
    return this.#held;
  }

  /** Whether a share may have one more of this many places. */
  mayTake([group, member]: Share, places: number): boolean {
    const free = places - this.#held - 1;
    if (free < 0) return false;
    // Nobody holds more than all do together.
    if (this.#held < free) return true;
    if (group === noShare[0]) return true;
    if (!isWithin(this.#groups.get(group), timesFree.group * free)) return false;
    return group !== unknownCallers || isWithin(this.#networks.get(member), timesFree.network * free);
  }

  take([group, member]: Share): void {
    this.#held++;
    this.#groups.set(group, (this.#groups.get(group) ?? 0) + 1);
    if (group === unknownCallers) this.#networks.set(member, (this.#networks.get(member) ?? 0) + 1);
  }

  give([group, member]: Share): void {
    this.#held--;
    fewer(this.#groups, group);
    if (group === unknownCallers) fewer(this.#networks, member);
  }

  /** The share of the group with the fewest places. */
  lightest(shares: readonly [Share, ...Share[]]): Share {
    let [lightest] = shares;
    if (shares.length === 1) return lightest;
    for (const share of shares) if (this.#of(share) < this.#of(lightest)) lightest = share;
    return lightest;
  }

  #of([group]: Share): number {
    return this.#groups.get(group) ?? 0;
  }
}

/** Whether one more is within a limit; the first one always is. */
const isWithin = (held = 0, most: number): boolean => held === 0 || held < most;

function fewer(counts: Map<string, number>, key: string): void {
  const left = (counts.get(key) ?? 1) - 1;
  if (left > 0) counts.set(key, left);
  else counts.delete(key);
}
