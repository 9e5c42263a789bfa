import { BlockList, isIP } from "node:net";

// RFC 1918, RFC 6598, RFC 3927, the half of RFC 4193 that is in use, and RFC 4291's link-local addresses.
const ranges = [
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "169.254.0.0/16",
  "fd00::/8",
  "fe80::/10",
] as const;

/** A warning for each trusted subnet that contains a whole private range, where clients are as likely as proxies. */
export function wideProxies(trusted: readonly string[]): readonly string[] {
  return trusted
    .filter((subnet) => ranges.some((range) => hasRange(subnet, range)))
    .map(
      (subnet) =>
        `TRUSTED_PROXIES has ${subnet}, which holds a whole private range: clients in it choose the address that limits count; name the proxies alone`,
    );
}

function hasRange(subnet: string, range: string): boolean {
  const [address = "", prefix] = subnet.split("/");
  const [first = "", length] = range.split("/");
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (prefix === undefined || Number(prefix) > Number(length) || isIP(first) !== isIP(address)) return false;
  const list = new BlockList();
  list.addSubnet(address, Number(prefix), family);
  return list.check(first, family);
}
