/** Who waits: an organization, or the unknown callers together; and in these a caller, or a network. */
export type Share = readonly [group: string, member: string];

/** The share of the process itself, which is no caller's. */
export const noShare: Share = ["", ""];

/** The group of all unknown callers; no id of an organization has this form. */
export const unknownCallers = "unknown callers";

type Members<T> = Map<string, Set<T>>;

/** Entries that wait: groups take turns, and so do the members of a group; those of one member are served as they came. */
export class Turns<T> {
  readonly #groups = new Map<string, Members<T>>();
  #size = 0;

  /** How many wait. */
  get size(): number {
    return this.#size;
  }

  add([group, member]: Share, entry: T): void {
    const members = this.#groups.get(group) ?? new Map<string, Set<T>>();
    const entries = members.get(member) ?? new Set<T>();
    this.#groups.set(group, members.set(member, entries.add(entry)));
    this.#size += 1;
  }

  /** Takes an entry that waits no longer. */
  delete([group, member]: Share, entry: T): void {
    const members = this.#groups.get(group);
    const entries = members?.get(member);
    if (!members || !entries?.delete(entry)) return;
    this.#size -= 1;
    if (entries.size === 0) members.delete(member);
    if (members.size === 0) this.#groups.delete(group);
  }

  /** Takes the entry whose turn it is, of those who may have one; its group and its member are the last in line then. */
  next(may: (share: Share) => boolean = () => true): T | undefined {
    for (const [group, members] of this.#groups)
      for (const [member, entries] of members) {
        if (!may([group, member])) continue;
        for (const entry of entries) {
          members.delete(member);
          members.set(member, entries);
          this.#groups.delete(group);
          this.#groups.set(group, members);
          this.delete([group, member], entry);
          return entry;
        }
      }
    return undefined;
  }

  /** Takes the last entry of those who have the most waiting, to make room for one who has fewer, also with one more. */
  yieldTo([group, member]: Share): T | undefined {
    const largest = largestOf(this.#groups, sizeOfGroup);
    if (!largest) return undefined;
    const own = this.#groups.get(group);
    const isOwn = largest[0] === group;
    if (!isOwn && sizeOfGroup(largest[1]) < (own ? sizeOfGroup(own) : 0) + 2) return undefined;
    const most = largestOf(largest[1], (entries) => entries.size);
    if (!most) return undefined;
    if (isOwn && most[1].size < (own?.get(member)?.size ?? 0) + 2) return undefined;
    const last = [...most[1]].at(-1);
    if (last !== undefined) this.delete([largest[0], most[0]], last);
    return last;
  }
}

const sizeOfGroup = (members: Members<unknown>): number => {
  let size = 0;
  for (const entries of members.values()) size += entries.size;
  return size;
};

function largestOf<V>(all: ReadonlyMap<string, V>, sizeOf: (value: V) => number): [string, V] | undefined {
  let largest: [string, V] | undefined;
  for (const one of all) if (!largest || sizeOf(one[1]) > sizeOf(largest[1])) largest = one;
  return largest;
}
