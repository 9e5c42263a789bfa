import { BlockList, isIP } from "node:net";

/** Finds a client's address behind proxies that are trusted to name it. */
export type ClientAddresses = {
  /** Whether an address is a trusted proxy's. */
  readonly isProxy: (address: string | undefined) => boolean;
  /** The address that trusted proxies name in `x-forwarded-for`; undefined if they name none. */
  readonly forwarded: (forwardedFor: string | undefined) => string | undefined;
};

// A client may write as many addresses as its headers hold, and each costs a lookup. No chain of proxies is longer than this.
const maxProxies = 16;

/** Trusts these addresses and subnets. */
export function clientAddresses(trustedProxies: readonly string[] = []): ClientAddresses {
  const trusted = blockListOf(trustedProxies);
  const isProxy =
    trustedProxies.length === 0
      ? () => false
      : (address: string | undefined) => address !== undefined && isListed(address, trusted);
  return {
    isProxy,
    // Each proxy appends the address it was called from; a client may have invented everything further left.
    forwarded(forwardedFor = "") {
      let end = forwardedFor.length;
      for (let count = 0; count < maxProxies && end >= 0; count++) {
        const comma = end === 0 ? -1 : forwardedFor.lastIndexOf(",", end - 1);
        const address = withoutPort(forwardedFor.slice(comma + 1, end).trim());
        if (isIP(address) === 0) return undefined;
        if (!isProxy(address)) return address;
        end = comma;
      }
      return undefined;
    },
  };
}

/** The client's address for a request: the peer's, or the one that a trusted peer names. */
export function clientAddressOf(
  { isProxy, forwarded }: ClientAddresses,
  peer: string | undefined,
  forwardedFor: string | undefined,
): string | undefined {
  return isProxy(peer) ? forwarded(forwardedFor) : peer;
}

// Longer than an IPv6 address with its zone, brackets and port.
const maxAddressLength = 80;

/** An address without its port, which some proxies add, and IPv6 without brackets. */
function withoutPort(written: string): string {
  if (written.length > maxAddressLength) return "";
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d+)?|([^:]*):\d+)$/.exec(written) ?? [];
  return bracketed ?? plain ?? written;
}

function isListed(written: string, list: BlockList): boolean {
  const address = written.replace(/^::ffff:(?=[\d.]+$)/i, "");
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 6 ? "ipv6" : "ipv4");
}

function blockListOf(subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [address = "", prefix] = subnet.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}
