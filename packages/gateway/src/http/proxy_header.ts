/** The client named by a PROXY header; undefined if it names none, in which case the connection is the proxy's own. */
export type ProxyHeader = {
  readonly client: string | undefined;
  /** The length of the header in bytes. */
  readonly length: number;
};

/** The result of reading a connection's first bytes, which may be incomplete, no PROXY header, or a malformed one. */
export type ReadProxyHeader = ProxyHeader | "incomplete" | "absent" | "malformed";

const signature = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
const fixedBytes = 16;
// The protocol allows 65,551 bytes. TCP addresses take 36 of them, and the rest are extensions, which are not used here.
const maxBytes = 4096;

const localCommand = 0x20;
const proxyCommand = 0x21;
const unspecified = 0x00;
const tcpOverIpv4 = 0x11;
const tcpOverIpv6 = 0x21;
const unixStream = 0x31;

// The size of both addresses and both ports.
const addressBytes: Readonly<Record<number, number>> = {
  [unspecified]: 0,
  [tcpOverIpv4]: 12,
  [tcpOverIpv6]: 36,
  [unixStream]: 216,
};

/** Reads a binary PROXY protocol header, version 2: https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt, 2.2. */
export function readProxyHeader(bytes: Buffer): ReadProxyHeader {
  const known = Math.min(bytes.length, signature.length);
  if (!bytes.subarray(0, known).equals(signature.subarray(0, known))) return "absent";
  if (bytes.length < fixedBytes) return "incomplete";
  const [command = 0, family = 0] = bytes.subarray(12, 14);
  const length = fixedBytes + bytes.readUInt16BE(14);
  if (length > maxBytes || (command !== localCommand && command !== proxyCommand)) return "malformed";
  const taken = addressBytes[family];
  // A health check by the proxy itself: any addresses must be ignored.
  const isNamed = command === proxyCommand;
  if (isNamed && (taken === undefined || fixedBytes + taken > length)) return "malformed";
  if (bytes.length < length) return "incomplete";
  if (isNamed && !areExtensions(bytes.subarray(fixedBytes + (taken ?? 0), length))) return "malformed";
  return { client: isNamed ? clientOf(family, bytes) : undefined, length };
}

function clientOf(family: number, bytes: Buffer): string | undefined {
  if (family === tcpOverIpv4) return bytes.subarray(fixedBytes, fixedBytes + 4).join(".");
  if (family !== tcpOverIpv6) return undefined;
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(fixedBytes + 2 * index));
  const isMapped = groups.slice(0, 6).join(":") === "0:0:0:0:0:65535";
  if (isMapped) return bytes.subarray(fixedBytes + 12, fixedBytes + 16).join(".");
  return groups.map((group) => group.toString(16)).join(":");
}

/** Whether the bytes are extensions, each with type, length and value. */
function areExtensions(bytes: Buffer): boolean {
  let at = 0;
  while (at + 3 <= bytes.length) at += 3 + bytes.readUInt16BE(at + 1);
  return at === bytes.length;
}
