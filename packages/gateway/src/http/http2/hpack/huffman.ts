// RFC 7541, appendix B. The code is canonical, so the lengths define it.
const lengths = [
  [13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28],
  [28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28],
  [6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6],
  [5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10],
  [13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7],
  [7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6],
  [15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5],
  [6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28],
  [20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23],
  [24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24],
  [22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23],
  [21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23],
  [26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25],
  [19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27],
  [20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23],
  [26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26],
  // EOS, which must not be sent.
  [30],
].flat();

const eos = 256;
const longestPadding = 7;

// Transitions by four bits: the next state in the low byte, above it a symbol, and whether there is one.
const emits = 1 << 16;
const fails = 1 << 17;
const step = new Int32Array(256 * 16);
// States in which a string may end, with at most 7 bits of padding, all ones (RFC 7541, 5.2).
const isAccepting = new Uint8Array(256);

type Leaf = { readonly symbol: number };
type Branch = { readonly state: number; readonly next: (Branch | Leaf | undefined)[] };

build();

/** Decodes a Huffman-coded string; undefined for an invalid one. */
export function decodeHuffman(bytes: Buffer, start: number, end: number): string | undefined {
  // The shortest code has five bits.
  const maxLength = Math.ceil(((end - start) * 8) / 5);
  if (scratch.length < maxLength) scratch = Buffer.allocUnsafe(maxLength);
  const into = scratch;
  let state = 0;
  let size = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    const high = step[(state << 4) | (byte >> 4)] ?? fails;
    if (high & emits) into[size++] = (high >> 8) & 0xff;
    const low = step[((high & 0xff) << 4) | (byte & 15)] ?? fails;
    if (low & emits) into[size++] = (low >> 8) & 0xff;
    if ((high | low) & fails) return undefined;
    state = low & 0xff;
  }
  return isAccepting[state] ? into.toString("latin1", 0, size) : undefined;
}

let scratch = Buffer.allocUnsafe(1024);

function build(): void {
  const branches = tree();
  for (const branch of branches)
    for (let bits = 0; bits < 16; bits += 1) step[(branch.state << 4) | bits] = walk(branches, branch, bits);
  let [node, depth]: [Branch | Leaf | undefined, number] = [branches[0], 0];
  while (node && "next" in node && depth <= longestPadding) {
    isAccepting[node.state] = 1;
    [node, depth] = [node.next[1], depth + 1];
  }
}

function tree(): readonly Branch[] {
  const root: Branch = { state: 0, next: [] };
  const branches = [root];
  let [code, length] = [0, 0];
  for (const symbol of [...lengths.keys()].sort((a, b) => (lengths[a] ?? 0) - (lengths[b] ?? 0) || a - b)) {
    const longer = (lengths[symbol] ?? 0) - length;
    code <<= longer;
    length += longer;
    plant(branches, { code, length, symbol });
    code += 1;
  }
  return branches;
}

function plant(branches: Branch[], { code, length, symbol }: { code: number; length: number; symbol: number }): void {
  let node = branches[0];
  for (let left = length - 1; left > 0 && node; left -= 1) {
    const bit: number = (code >> left) & 1;
    let next: Branch | Leaf | undefined = node.next[bit];
    if (!next || !("next" in next)) {
      next = { state: branches.length, next: [] };
      node.next[bit] = next;
      branches.push(next);
    }
    node = next;
  }
  if (node) node.next[code & 1] = { symbol };
}

function walk(branches: readonly Branch[], from: Branch, bits: number): number {
  let node: Branch = from;
  let found = 0;
  for (let left = 3; left >= 0; left -= 1) {
    const next = node.next[(bits >> left) & 1];
    if (!next || ("symbol" in next && next.symbol === eos)) return fails;
    if ("symbol" in next) found = emits | (next.symbol << 8);
    node = "next" in next ? next : (branches[0] ?? node);
  }
  return found | node.state;
}
