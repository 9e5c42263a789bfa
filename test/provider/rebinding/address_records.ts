/** The name of a query, and whether it asks for IPv4 addresses (RFC 1035, 4.1.2). */
export function questionIn(query: Buffer): { readonly name: string; readonly isIpv4: boolean } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), isIpv4: query.readUInt16BE(at + 1) === 1 };
}

/** The answer to a query: IPv4 addresses that nobody may keep. */
export function answerTo(query: Buffer, addresses: readonly string[]): Buffer {
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses.length, 6);
  const end = query.indexOf(0, 12) + 5;
  const records = addresses.map((address) => {
    const bytes = address.split(".").map(Number);
    return Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...bytes]);
  });
  return Buffer.concat([header, query.subarray(12, end), ...records]);
}
