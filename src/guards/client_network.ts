import { BlockList, isIP } from "node:net";
import { networkOf } from "@postern/gateway";
import { type Call, keys } from "../deps.ts";
import type { Step } from "./around.ts";

/**
 * Finds the network that a client calls from, which limits of unknown callers count by. Behind a proxy that is trusted it is the
 * one that the proxy names; when the proxy names none, nothing is counted, because all clients share the proxy's address.
 */
export function clientNetwork(trustedProxies: readonly string[]): Step {
  const trusted = blockListOf(trustedProxies);
  return (_request, call) => {
    const address = clientAddress(call, trusted);
    call.values.set(keys.network, address === undefined ? undefined : networkOf(address));
  };
}

function clientAddress({ values, requestHeader }: Call, trusted: BlockList): string | undefined {
  const peer = values.get(keys.address);
  if (peer === undefined || !isListed(peer, trusted)) return peer;
  // Each proxy appends the address that it was called from; a client may have invented what stands before the last address that is not a proxy's.
  const forwarded = (requestHeader.get("x-forwarded-for") ?? "").split(",").map(withoutPort);
  const client = forwarded.findLast((address) => !isListed(address, trusted));
  return client !== undefined && isIP(client) ? client : undefined;
}

/** An address without its port, which some proxies add, and IPv6 without its brackets. */
function withoutPort(written: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d+)?|([^:]*):\d+)$/.exec(written.trim()) ?? [];
  return bracketed ?? plain ?? written.trim();
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
