const signature = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");

/** The parts of a PROXY header of version 2, right or wrong. */
export type ProxyHeaderParts = {
  /** Version and command; PROXY when absent. */
  readonly command?: number;
  /** Family and transport; TCP over IPv4 when absent. */
  readonly family?: number;
  readonly addresses?: Uint8Array;
  readonly extensions?: Uint8Array;
  /** The length that the header states; the right one when absent. */
  readonly length?: number;
};

/** The bytes of a PROXY header. */
export function proxyHeader({ command = 0x21, family = 0x11, ...parts }: ProxyHeaderParts): Buffer {
  const rest = Buffer.concat([parts.addresses ?? Buffer.alloc(0), parts.extensions ?? Buffer.alloc(0)]);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(parts.length ?? rest.length);
  return Buffer.concat([signature, Buffer.of(command, family), length, rest]);
}

/** Both addresses and both ports of TCP over IPv4; the client is the first. */
export const ipv4 = (client: string) => Buffer.from([...client.split(".").map(Number), 127, 0, 0, 1, 200, 1, 31, 144]);

/** Both addresses and both ports of TCP over IPv6, by the sixteen-bit groups of the client. */
export function ipv6(...groups: readonly number[]): Buffer {
  const bytes = Buffer.alloc(36);
  for (const [index, group] of groups.entries()) bytes.writeUInt16BE(group, 2 * index);
  return bytes;
}

/** An extension of a PROXY header. */
export const extension = (type: number, value: string) =>
  Buffer.concat([Buffer.of(type, value.length >> 8, value.length & 255), Buffer.from(value)]);
