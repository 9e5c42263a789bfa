/** A share of places: an organization, or the unknown callers together; within it a caller, or a network. */
export type Share = readonly [group: string, member: string];

/** The share of the process itself, which belongs to no caller. */
export const noShare: Share = ["", ""];

/** The group of all unknown callers; no id of an organization has this form. */
export const unknownCallers = "unknown callers";

type Members<T> = Map<string, Set<T>>;

/** Waiting entries: groups take turns, and so do the members of a group; those of one member are served in the order of arrival. */
export class Turns<T> {
  readonly #groups = new Map<string, Members<T>>();
  #size = 0;

  /** The number of waiting entries. */
  get size(): number {
    return this.#size;
  }

  add([group, member]: Share, entry: T): void {
    const members = this.#groups.get(group) ?? new Map<string, Set<T>>();
    const entries = members.get(member) ?? new Set<T>();
    this.#groups.set(group, members.set(member, entries.add(entry)));
    this.#size += 1;
  }

  /** Removes an entry that waits no longer. */
  delete([group, member]: Share, entry: T): void {
    const members = this.#groups.get(group);
    const entries = members?.get(member);
    if (!members || !entries?.delete(entry)) return;
    this.#size -= 1;
    if (entries.size === 0) members.delete(member);
    if (members.size === 0) this.#groups.delete(group);
  }

  /** Takes the entry whose turn it is, among those that may have a place; its group and its member then go to the end of the line. */
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

  /** Takes the last entry of the share with the most waiting, to make room for a share that has fewer, even with one more. */
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
