import { type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { messageWriter } from "./message_writer.ts";
import type { WriteValue } from "./scalar_writer.ts";

/** Encodes messages of one type. */
export type Encoder = { readonly encode: (message: Message) => Uint8Array };

/** Makes the encoder of a message type; it writes the bytes of `toBinary`. */
export function encoderOf(type: DescMessage): Encoder {
  const write = messageWriter(type);
  return write ? new ReusingEncoder(type, write) : { encode: (message) => toBinary(type, message) };
}

/**
 * Keeps its buffer, where `toBinary` makes one for each message: V8 allocates arrays of more than 64 bytes outside its heap, which
 * costs more than to encode a small message. Messages that it does not understand are left to `toBinary`, with their errors.
 */
class ReusingEncoder implements Encoder {
  readonly #type: DescMessage;
  readonly #write: WriteValue;
  // Absent while a message is written: one of its getters may encode another one.
  #writer: BinaryWriter | undefined = new BinaryWriter();

  constructor(type: DescMessage, write: WriteValue) {
    this.#type = type;
    this.#write = write;
  }

  encode(message: Message): Uint8Array {
    const writer = this.#writer;
    if (!writer) return toBinary(this.#type, message);
    this.#writer = undefined;
    let bytes: Uint8Array | undefined;
    try {
      this.#write(writer, message);
      bytes = writer.finish();
    } catch {
      // The writer is left with a part of the message.
    }
    this.#writer = bytes && bytes.length <= maxKeptBytes ? writer : new BinaryWriter();
    return bytes ?? toBinary(this.#type, message);
  }
}

// A writer's buffer is at most about twice as large as its largest message, and each rpc has one.
const maxKeptBytes = 8192;
