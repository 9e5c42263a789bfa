import {
  create,
  type DescField,
  type DescMessage,
  isMessage,
  type JsonObject,
  type JsonValue,
  type Message,
  toBinary,
} from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** Called between the steps of long work. Returns a promise if others have to have the event loop first, and undefined if it may go on. */
export type Pause = () => Promise<void> | undefined;

type MessageList = DescField & {
  readonly fieldKind: "list";
  readonly listKind: "message";
  readonly message: DescMessage;
};

// Fewer take less than half a millisecond.
const few = 32;
// Few enough bytes and items to be read or written in a fraction of a millisecond.
const bytesOfStep = 4096;
const itemsOfStep = 8;

const listsOf = new WeakMap<DescMessage, readonly MessageList[]>();

/** The lists of messages that a message type has. */
function messageLists(type: DescMessage): readonly MessageList[] {
  const known = listsOf.get(type);
  if (known) return known;
  const lists = type.fields.filter(
    (field): field is MessageList => field.fieldKind === "list" && field.listKind === "message",
  );
  listsOf.set(type, lists);
  return lists;
}

/** Whether messages of a type may be long enough for pieces. */
export const hasListOfMessages = (type: DescMessage): boolean => messageLists(type).length > 0;

const itemsIn = (message: object, { localName }: DescField): Message[] =>
  (message as Record<string, Message[]>)[localName] ?? [];

/** The long list of a message, or of an object that a message is made from, if it has one that is long enough for pieces. */
export const longListIn = (type: DescMessage, message: object): MessageList | undefined =>
  messageLists(type).find((field) => itemsIn(message, field).length > few);

/** A copy of a message without the items of one list. */
function without(message: Message, { localName }: DescField): Message {
  const copy = Object.assign(Object.create(Object.getPrototypeOf(message) as object), message) as Message;
  return Object.assign(copy, { [localName]: [] });
}

/** Adds an item to a list of a message. */
export const addItem = (message: Message, field: DescField, item: Message): void =>
  void itemsIn(message, field).push(item);

/** Does work for each item of a list, in pieces. */
export async function eachInPieces<T>(items: readonly T[], pause: Pause, work: (item: T) => void): Promise<void> {
  for (const [index, item] of items.entries()) {
    work(item);
    if (index % itemsOfStep === itemsOfStep - 1) await pause();
  }
}

type LongList = { readonly list: MessageList; readonly pause: Pause };

/** Makes a message with a long list. */
export async function createInPieces(type: DescMessage, init: object, { list, pause }: LongList): Promise<Message> {
  const made: Message[] = [];
  await eachInPieces(itemsIn(init, list), pause, (item) => {
    made.push(isMessage(item, list.message) ? item : create(list.message, item));
  });
  return create(type, { ...init, [list.localName]: made });
}

/** Writes a message with a long list in the binary format. */
export async function binaryInPieces(type: DescMessage, message: Message, pause: Pause): Promise<Uint8Array> {
  const list = longListIn(type, message);
  if (!list) return toBinary(type, message);
  const writer = new BinaryWriter();
  await eachInPieces(itemsIn(message, list), pause, (item) => {
    writer.tag(list.number, WireType.LengthDelimited).bytes(toBinary(list.message, item));
  });
  return writer.raw(toBinary(type, without(message, list))).finish();
}

type ToJson = (type: DescMessage, message: Message) => JsonValue;

/** Writes a message with a long list as JSON text. */
export async function jsonTextInPieces(
  type: DescMessage,
  message: Message,
  { toJson, pause }: { readonly toJson: ToJson; readonly pause: Pause },
): Promise<string> {
  const list = longListIn(type, message);
  const rest = toJson(type, list ? without(message, list) : message);
  if (!list) return JSON.stringify(rest);
  const texts: string[] = [];
  await eachInPieces(itemsIn(message, list), pause, (item) => {
    texts.push(JSON.stringify(toJson(list.message, item)));
  });
  const fields = Object.entries(rest ?? {}).map(
    ([name, value]) =>
      `${JSON.stringify(name)}:${name === list.jsonName ? `[${texts.join()}]` : JSON.stringify(value)}`,
  );
  return `{${fields.join()}}`;
}

/**
 * Splits a message in the binary format between its fields; undefined if it is short, or cannot be split. A decoder reads beyond no piece,
 * so pieces that it reads one after another are the same message to it.
 */
export function piecesOfBinary(bytes: Uint8Array): readonly Uint8Array[] | undefined {
  if (bytes.length <= bytesOfStep) return undefined;
  const reader = new BinaryReader(bytes);
  const pieces: Uint8Array[] = [];
  let from = 0;
  while (reader.pos < bytes.length) {
    if (!isSkipped(reader)) return undefined;
    if (reader.pos - from < bytesOfStep && reader.pos < bytes.length) continue;
    pieces.push(bytes.subarray(from, reader.pos));
    from = reader.pos;
  }
  return pieces;
}

/** Skips a field; false if there is none. */
function isSkipped(reader: BinaryReader): boolean {
  try {
    const [number, wire] = reader.tag();
    reader.skip(wire, number);
    return true;
  } catch {
    return false;
  }
}

/** A list in the JSON of a message that is long enough to be read in pieces: its field, its key, and its items. */
export type JsonList = {
  readonly json: JsonObject;
  readonly field: MessageList;
  readonly key: string;
  readonly items: readonly JsonValue[];
};

/** Finds such a list. */
export function longListInJson(type: DescMessage, json: JsonObject): JsonList | undefined {
  for (const field of messageLists(type)) {
    const [key, another] = Object.keys(json).filter((key) => key === field.jsonName || key === field.name);
    const items = key === undefined ? undefined : json[key];
    if (key !== undefined && another === undefined && Array.isArray(items) && items.length > few)
      return { json, field, key, items };
  }
  return undefined;
}
