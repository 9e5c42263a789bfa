/** The place of an event in the store: epochs, transactions and identities in the order in which they began, not were committed. */
export type StoredAt = { readonly epoch: number; readonly xid: string; readonly position: bigint };

/** A position in the log: the number of an event, and the random id of the batch in which it got the number. */
export type Position = { readonly number: bigint; readonly batch: string };

/** A position of release 0.1.0: the event last seen, and the earlier transactions that were still open then. */
export type EarlierPosition = StoredAt & { readonly open: readonly string[] };

/** The position before the first event, whichever history the log has. */
export const beginning: Position = { number: 0n, batch: "" };

/** Formats a position for clients, such as `58.9f86d081884c7d65`. */
export const formatPosition = ({ number, batch }: Position): string => (batch ? `${number}.${batch}` : String(number));

/** Parses a client's position; undefined for any other text. */
export function parsePosition(text: string): Position | EarlierPosition | undefined {
  const [, number, batch] = written.exec(text) ?? [];
  if (number !== undefined && batch !== undefined) return { number: BigInt(number), batch };
  return text === "0" ? beginning : parseEarlier(text);
}

const written = /^(\d{1,18})\.([0-9a-f]{16})$/;

/** Parses `1.740.58`, or `1.740.58~3.1` if the transactions 737 and 739 were open. */
function parseEarlier(text: string): Position | EarlierPosition | undefined {
  const [, epoch = "", xid = "", position = "", behind] = writtenEarlier.exec(text) ?? [];
  if (!epoch || BigInt(xid) >= 2n ** 64n) return undefined;
  const open = behind?.split(".").map((one) => BigInt(xid) - BigInt(one)) ?? [];
  if (open.some((one) => one < 0n)) return undefined;
  if (Number(epoch) === 0) return beginning;
  return { epoch: Number(epoch), xid, position: BigInt(position), open: open.map(String) };
}

const writtenEarlier = /^(\d{1,9})\.(\d{1,20})\.(\d{1,18})(?:~(\d{1,20}(?:\.\d{1,20}){0,99}))?$/;

/** Whether a client at a position of release 0.1.0 has seen the event. */
export function isSeen(event: StoredAt, mark: EarlierPosition): boolean {
  if (event.epoch !== mark.epoch) return event.epoch < mark.epoch;
  if (event.xid !== mark.xid) return BigInt(event.xid) < BigInt(mark.xid) && !mark.open.includes(event.xid);
  return event.position <= mark.position;
}
