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

// Unknown callers must not fill the budget for those who are known, one network not for the others, nor one caller for the rest.
// Whose a request is may take a look into the database: until then little of its body is let in, and it counts apart.
const undecidedShare = 1 / 2;
const unknownShare = 1 / 4;
const networkShare = 1 / 16;
const callerShare = 1 / 4;
const mostNames = 10_000;

/** Makes a budget of so many bytes. */
export function bodyBudget(most: number): BodyBudget {
  const whole: Share = { bytes: 0, most };
  const undecided = [whole, { bytes: 0, most: most * undecidedShare }];
  const unknown: Share = { bytes: 0, most: most * unknownShare };
  const networks = new Map<string, Share>();
  const callers = new Map<string, Share>();
  return {
    from(address) {
      const strangers = [whole, unknown, shareIn(networks, networkOf(address), most * networkShare)];
      const sharesOf = (name: string | undefined) =>
        name === undefined ? strangers : [whole, shareIn(callers, name, most * callerShare)];
      return { account: () => new BodyAccount(undecided, sharesOf) };
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

/** Counts the bytes that are held of one request; a class, because every request makes one. */
export class BodyAccount {
  readonly #sharesOf: (name: string | undefined) => readonly Share[];
  #shares: readonly Share[];
  #bytes = 0;

  constructor(undecided: readonly Share[], sharesOf: (name: string | undefined) => readonly Share[]) {
    this.#shares = undecided;
    this.#sharesOf = sharesOf;
  }

  /** Counts bytes that are to be held; false when there is no room for them, and then none is counted. */
  take(bytes: number): boolean {
    for (const share of this.#shares) if (share.bytes + bytes > share.most) return false;
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

  /** Counts what is held to a caller by name; without a name, to the unknown callers and their network. */
  identify(name: string | undefined): void {
    const held = this.#bytes;
    this.release();
    this.#shares = this.#sharesOf(name);
    if (held > 0) this.#add(held);
  }

  #add(bytes: number): void {
    this.#bytes += bytes;
    for (const share of this.#shares) share.bytes += bytes;
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
