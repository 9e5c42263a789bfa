import { isIPv6 } from "node:net";

/** Bytes held, or streams, and how many may be. */
type Share = { held: number; readonly most: number };

/** How many bytes of bodies the process holds at once, and how many streams of unknown callers. */
export type BudgetLimits = { readonly bodiesMaxBytes: number; readonly unknownStreamsMax: number };

/** The bytes of request bodies, and the streams of unknown callers, that the process may hold at once. */
export type BodyBudget = {
  /** The share of the network that an address is in, for the accounts of its requests. */
  readonly from: (address: string | undefined) => Network;
};

/** Opens accounts of requests that come from one network. */
export type Network = { readonly account: () => BodyAccount };

// Unknown callers must not fill the budget for those who are known, one network not for the others, nor one caller for the rest.
// Whose a request is may take a look into the database: until then little of its body is let in, and it counts apart.
const undecidedShare = 1 / 2;
const unknownShare = 1 / 4;
const networkShare = 1 / 16;
const callerShare = 1 / 4;
// More than of bytes, for the streams of all clients behind a proxy come from its address.
const networkStreamShare = 1 / 2;
const mostNames = 10_000;

/** Makes a budget. */
export function bodyBudget({ bodiesMaxBytes: most, unknownStreamsMax }: BudgetLimits): BodyBudget {
  const whole: Share = { held: 0, most };
  const undecided = [whole, { held: 0, most: most * undecidedShare }];
  const unknown: Share = { held: 0, most: most * unknownShare };
  const unknownStreams: Share = { held: 0, most: unknownStreamsMax };
  const networks = new Map<string, Share>();
  const networkStreams = new Map<string, Share>();
  const callers = new Map<string, Share>();
  return {
    from(address) {
      const network = networkOf(address);
      const strangers = [whole, unknown, shareIn(networks, network, most * networkShare)];
      const streams = [unknownStreams, shareIn(networkStreams, network, unknownStreamsMax * networkStreamShare)];
      const sharesOf = (name: string | undefined) =>
        name === undefined ? strangers : [whole, shareIn(callers, name, most * callerShare)];
      return { account: () => new BodyAccount({ undecided, sharesOf, streams }) };
    },
  };
}

function shareIn(shares: Map<string, Share>, name: string, most: number): Share {
  const known = shares.get(name);
  if (known) return known;
  // Shares that nothing is held of are worth nothing.
  if (shares.size >= mostNames) for (const [one, { held }] of shares) if (held === 0) shares.delete(one);
  const share = { held: 0, most };
  shares.set(name, share);
  return share;
}

type AccountParts = {
  readonly undecided: readonly Share[];
  readonly sharesOf: (name: string | undefined) => readonly Share[];
  readonly streams: readonly Share[];
};

/** Counts what is held of one request; a class, because every request makes one. */
export class BodyAccount {
  readonly #parts: AccountParts;
  #shares: readonly Share[];
  #bytes = 0;
  #isUnknown = false;
  #isStream = false;
  #isClosed = false;

  constructor(parts: AccountParts) {
    this.#parts = parts;
    this.#shares = parts.undecided;
  }

  /** Counts bytes that are to be held; false when there is no room for them or the request is over: then none is counted. */
  take(bytes: number): boolean {
    // Work that outlives its request would take what nobody gives back.
    if (this.#isClosed || !hasRoom(this.#shares, bytes)) return false;
    this.#add(bytes);
    return true;
  }

  /** Bytes are held no more. */
  give(bytes: number): void {
    this.#add(-Math.min(bytes, this.#bytes));
  }

  /** No bytes are held any more. */
  release(): void {
    if (this.#bytes > 0) this.#add(-this.#bytes);
  }

  /** Counts what is held to a caller by name; without a name, to the unknown callers and their network. */
  identify(name: string | undefined): void {
    const held = this.#bytes;
    this.release();
    this.#isUnknown = name === undefined;
    this.#shares = this.#parts.sharesOf(name);
    if (held > 0) this.#add(held);
  }

  /** Counts a stream until the request is over; false when unknown callers have too many open. */
  openStream(): boolean {
    if (!this.#isUnknown || this.#isStream) return true;
    if (this.#isClosed) return false;
    this.#isStream = hasRoom(this.#parts.streams, 1);
    if (this.#isStream) add(this.#parts.streams, 1);
    return this.#isStream;
  }

  /** The request is over: nothing of it is held any more. */
  close(): void {
    this.release();
    if (this.#isStream) add(this.#parts.streams, -1);
    this.#isStream = false;
    this.#isClosed = true;
  }

  #add(bytes: number): void {
    this.#bytes += bytes;
    add(this.#shares, bytes);
  }
}

function hasRoom(shares: readonly Share[], more: number): boolean {
  for (const share of shares) if (share.held + more > share.most) return false;
  return true;
}

function add(shares: readonly Share[], more: number): void {
  for (const share of shares) share.held += more;
}

/** Whom an address stands for: of IPv6 a network of 64 bits is given to one customer. */
export function networkOf(address = ""): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [front = "", back] = address.split("%", 1)[0]?.split("::") ?? [];
  const groups = front === "" ? [] : front.split(":");
  const rest = back ? back.split(":") : [];
  const zeros = back === undefined ? 0 : 8 - groups.length - rest.length;
  return [...groups, ...Array<string>(Math.max(0, zeros)).fill("0"), ...rest].slice(0, 4).join(":");
}
