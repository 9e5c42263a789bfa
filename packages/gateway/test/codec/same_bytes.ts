import { randomInt } from "node:crypto";
import { type DescMessage, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { expect, test } from "vitest";
import { encoderOf } from "../../src/codec/proto/encoder.ts";
import { messageWriter } from "../../src/codec/proto/message_writer.ts";
import { seeded } from "../http/http2/seeded.ts";
import { randomMessage } from "./random_message.ts";

/** Tests that the encoder writes the bytes of `toBinary`, for random messages of all these types. */
export function testSameBytes(types: readonly DescMessage[], messagesOfEach: number): void {
  test.each([1, randomInt(2 ** 31)])("messages have the bytes of toBinary, from seed %i on", (seed) => {
    const random = seeded(seed);
    for (const type of types) {
      const write = messageWriter(type);
      const encoder = encoderOf(type);
      for (let count = 0; count < messagesOfEach; count += 1) {
        const message = randomMessage(type, { random, isWild: false });
        const expected = Buffer.from(toBinary(type, message)).toString("hex");
        const about = `${type.typeName}, message ${count} from seed ${seed}`;
        expect(Buffer.from(encoder.encode(message)).toString("hex"), about).toBe(expected);
        const writer = new BinaryWriter();
        write?.(writer, message);
        if (write) expect(Buffer.from(writer.finish()).toString("hex"), about).toBe(expected);
      }
    }
  });

  test.each([1, randomInt(2 ** 31)])(
    "messages with wrong values are encoded or refused alike, from seed %i on",
    (seed) => {
      const random = seeded(seed);
      for (const type of types) {
        const encoder = encoderOf(type);
        for (let count = 0; count < messagesOfEach; count += 1) {
          const message = randomMessage(type, { random, isWild: true });
          const about = `${type.typeName}, message ${count} from seed ${seed}`;
          expect(
            outcome(() => encoder.encode(message)),
            about,
          ).toBe(outcome(() => toBinary(type, message)));
        }
      }
    },
  );
}

function outcome(encode: () => Uint8Array): string {
  try {
    return Buffer.from(encode()).toString("hex");
  } catch (error) {
    return String(error);
  }
}
