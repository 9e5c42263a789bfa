import { isIPv6 } from "node:net";

/** A count of held bytes or open streams, and its limit. */
type Share = { held: number; readonly max: number };

/** Limits of a budget, for the whole process. */
export type BudgetLimits = { readonly bodiesMaxBytes: number; readonly unknownStreamsMax: number };

/** The bytes of request bodies, and the streams of unknown callers, that the process may hold at once. */
export type BodyBudget = {
  /** Returns the network of an address. */
  readonly from: (address: string | undefined) => Network;
};

/** The network of a client, which opens accounts for its requests. */
export type Network = {
  /** The name of the network; undefined for a client without an address. */
  readonly name: string | undefined;
  /** The client's address; IPv4 is never written as IPv6. */
  readonly address: string | undefined;
  readonly account: () => BodyAccount;
};

// Unknown callers must not use up the budget of known ones, nor one network that of others, nor one caller that of the rest. Finding the
// caller may take a database query; until then, only a little of the body is let in, and counted separately.
const undecidedFraction = 1 / 2;
const unknownFraction = 1 / 4;
const networkFraction = 1 / 16;
const callerFraction = 1 / 4;
// A larger fraction than for bytes, because all clients behind a proxy share its address.
const networkStreamFraction = 1 / 2;
const maxShares = 10_000;

/** Makes a budget. */
export function bodyBudget({ bodiesMaxBytes, unknownStreamsMax }: BudgetLimits): BodyBudget {
  const whole: Share = { held: 0, max: bodiesMaxBytes };
  const undecided = [whole, { held: 0, max: bodiesMaxBytes * undecidedFraction }];
  const unknown: Share = { held: 0, max: bodiesMaxBytes * unknownFraction };
  const unknownStreams: Share = { held: 0, max: unknownStreamsMax };
  const networks = new Map<string, Share>();
  const networkStreams = new Map<string, Share>();
  const callers = new Map<string, Share>();
  return {
    from(address) {
      const network = networkOf(address);
      const unknownCallers = [whole, unknown, shareIn(networks, network, bodiesMaxBytes * networkFraction)];
      const streams = [unknownStreams, shareIn(networkStreams, network, unknownStreamsMax * networkStreamFraction)];
      const sharesOf = (name: string | undefined) =>
        name === undefined ? unknownCallers : [whole, shareIn(callers, name, bodiesMaxBytes * callerFraction)];
      return {
        name: address === undefined ? undefined : network,
        address: address && (ipv4In(address) ?? address),
        account: () => new BodyAccount({ undecided, sharesOf, streams }),
      };
    },
  };
}

function shareIn(shares: Map<string, Share>, name: string, max: number): Share {
  const existing = shares.get(name);
  if (existing) return existing;
  // Empty shares carry no information.
  if (shares.size >= maxShares) for (const [one, { held }] of shares) if (held === 0) shares.delete(one);
  const share = { held: 0, max };
  shares.set(name, share);
  return share;
}

type AccountOptions = {
  readonly undecided: readonly Share[];
  readonly sharesOf: (name: string | undefined) => readonly Share[];
  readonly streams: readonly Share[];
};

/** Counts the bytes held for one request. A class, because every request creates one. */
export class BodyAccount {
  readonly #options: AccountOptions;
  #shares: readonly Share[];
  #bytes = 0;
  #isUnknown = false;
  #isStream = false;
  #isClosed = false;

  constructor(options: AccountOptions) {
    this.#options = options;
    this.#shares = options.undecided;
  }

  /** Reserves bytes; false if there is no room for them or the request is over, in which case none are reserved. */
  take(bytes: number): boolean {
    // Work that outlives its request would take bytes that are never returned.
    if (this.#isClosed || !hasRoom(this.#shares, bytes)) return false;
    this.#add(bytes);
    return true;
  }

  /** Returns reserved bytes. */
  give(bytes: number): void {
    this.#add(-Math.min(bytes, this.#bytes));
  }

  /** Returns all reserved bytes. */
  release(): void {
    if (this.#bytes > 0) this.#add(-this.#bytes);
  }

  /** Moves the account to a caller's share; without a name, to the shares of unknown callers and their network. */
  identify(name: string | undefined): void {
    const held = this.#bytes;
    this.release();
    this.#isUnknown = name === undefined;
    this.#shares = this.#options.sharesOf(name);
    if (held > 0) this.#add(held);
  }

  /** Counts a stream of an unknown caller until `close`; false if unknown callers have too many open. */
  openStream(): boolean {
    if (!this.#isUnknown || this.#isStream) return true;
    if (this.#isClosed) return false;
    this.#isStream = hasRoom(this.#options.streams, 1);
    if (this.#isStream) add(this.#options.streams, 1);
    return this.#isStream;
  }

  /** Returns everything: the request is over. */
  close(): void {
    this.release();
    if (this.#isStream) add(this.#options.streams, -1);
    this.#isStream = false;
    this.#isClosed = true;
  }

  #add(bytes: number): void {
    this.#bytes += bytes;
    add(this.#shares, bytes);
  }
}

function hasRoom(shares: readonly Share[], more: number): boolean {
  for (const share of shares) if (share.held + more > share.max) return false;
  return true;
}

function add(shares: readonly Share[], more: number): void {
  for (const share of shares) share.held += more;
}

/** The network that a single customer typically has: an IPv4 address, or a 64-bit IPv6 prefix. */
export function networkOf(address = ""): string {
  const mapped = ipv4In(address);
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [front = "", back] = address.split("%", 1)[0]?.split("::") ?? [];
  const groups = front === "" ? [] : front.split(":").map(canonical);
  const rest = back ? back.split(":").map(canonical) : [];
  const zeros = back === undefined ? 0 : 8 - groups.length - rest.length;
  return [...groups, ...Array<string>(Math.max(0, zeros)).fill("0"), ...rest].slice(0, 4).join(":");
}

/** The IPv4 address that an IPv6 one stands for. */
const ipv4In = (address: string) => /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];

// Proxies may write addresses with leading zeros and capital letters.
const canonical = (group: string) => group.toLowerCase().replace(/^0+(?=.)/, "");
