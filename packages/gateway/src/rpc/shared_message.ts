import type { Message } from "@bufbuild/protobuf";

const encodings = Symbol("encodings");

type Encoded = Uint8Array | string;
type Encode = (message: Message) => Encoded;
type Shared = { readonly [encodings]?: Map<Encode, Encoded> };

/** Marks a message that several streams send: it is encoded once per format, and must not change afterwards. */
export function sharedMessage(message: Message & Shared): Message {
  if (!message[encodings]) Object.defineProperty(message, encodings, { value: new Map() });
  return message;
}

/** Makes an encoder that encodes a shared message once. Looking every message up in a map would cost more than it saves. */
export const onceIfShared =
  (encode: Encode): Encode =>
  (message: Message & Shared) => {
    const known = message[encodings];
    if (!known) return encode(message);
    const encoded = known.get(encode) ?? encode(message);
    known.set(encode, encoded);
    return encoded;
  };
