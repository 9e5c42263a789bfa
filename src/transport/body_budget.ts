import { isIPv6 } from "node:net";

/** Bytes held, and how many may be. */
type Share = { bytes: number; readonly most: number };

/** The bytes of request bodies that the process may hold at once. */
export type BodyBudget = {
  /** The share of the network that an address is in, for the accounts of its requests. */
  readonly from: (address: string | undefined) => Network;
};

/** Opens accounts of requests that come from one network. */
export type Network = { readonly account: () => BodyAccount };

// Strangers must not fill the budget for those who are known, one of them not for the others, nor one caller for the rest.
const unknownShare = 1 / 4;
const networkShare = 1 / 16;
const callerShare = 1 / 4;
const mostNames = 10_000;

/** Makes a budget of so many bytes. */
export function bodyBudget(most: number): BodyBudget {
  const whole: Share = { bytes: 0, most };
  const unknown: Share = { bytes: 0, most: most * unknownShare };
  const networks = new Map<string, Share>();
  const callers = new Map<string, Share>();
  const callerOf = (name: string) => shareIn(callers, name, most * callerShare);
  return {
    from(address) {
      const network = shareIn(networks, networkOf(address), most * networkShare);
      return { account: () => new BodyAccount({ whole, unknown, network, callerOf }) };
    },
  };
}

function shareIn(shares: Map<string, Share>, name: string, most: number): Share {
  const known = shares.get(name);
  if (known) return known;
  // Shares that nothing is held of are worth nothing.
  if (shares.size >= mostNames) for (const [one, { bytes }] of shares) if (bytes === 0) shares.delete(one);
  const share = { bytes: 0, most };
  shares.set(name, share);
  return share;
}

type AccountParts = {
  readonly whole: Share;
  readonly unknown: Share;
  readonly network: Share;
  readonly callerOf: (name: string) => Share;
};

/** Counts the bytes that are held of one request; a class, because every request makes one. */
export class BodyAccount {
  readonly #parts: AccountParts;
  #caller: Share | undefined;
  #bytes = 0;

  constructor(parts: AccountParts) {
    this.#parts = parts;
  }

  /** Counts bytes that are to be held; false when there is no room for them, and then none is counted. */
  take(bytes: number): boolean {
    const { whole, unknown, network } = this.#parts;
    const caller = this.#caller;
    if (whole.bytes + bytes > whole.most) return false;
    if (caller && caller.bytes + bytes > caller.most) return false;
    if (!caller && (unknown.bytes + bytes > unknown.most || network.bytes + bytes > network.most)) return false;
    this.#add(bytes);
    return true;
  }

  /** Bytes are held no more. */
  give(bytes: number): void {
    this.#add(-Math.min(bytes, this.#bytes));
  }

  /** Nothing is held any more. */
  release(): void {
    if (this.#bytes > 0) this.#add(-this.#bytes);
  }

  /** Counts what is held to a caller by name, who is unknown without one. */
  identify(name: string | undefined): void {
    if (name === undefined) return;
    const held = this.#bytes;
    this.release();
    this.#caller = this.#parts.callerOf(name);
    this.#add(held);
  }

  #add(bytes: number): void {
    const { whole, unknown, network } = this.#parts;
    this.#bytes += bytes;
    whole.bytes += bytes;
    if (this.#caller) this.#caller.bytes += bytes;
    else {
      unknown.bytes += bytes;
      network.bytes += bytes;
    }
  }
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
