import { create, type DescMessage, fromBinary, type Message, mergeFromBinary, type Registry } from "@bufbuild/protobuf";
import { GatewayError } from "../errors/gateway_error.ts";
import { unreadable } from "../errors/problem.ts";
import { binaryFault } from "./binary_fault.ts";
import type { FieldBounds } from "./field_bounds.ts";
import { itemCount } from "./item_count.ts";
import { anyTypes, type Draft, decodeJson, decodeJsonInPieces, type Rules, readJsonObject } from "./json.ts";
import { type Pause, piecesOfBinary } from "./pieces.ts";

/**
 * Decodes messages of one type for every protocol. Their values are counted first, because a decoder cannot be stopped midway. If it may
 * pause, it decodes long messages in pieces and returns a promise.
 */
export type Decoder = {
  readonly fromBinary: Decode<Uint8Array>;
  /** Decodes JSON text. */
  readonly fromJson: Decode<Uint8Array>;
  /** Decodes a JSON value made from a body, a path and a query. */
  readonly fromDraft: Decode<Draft>;
};

type Decode<T> = (encoded: T, pause?: Pause) => Message | Promise<Message>;

/** Rules and bounds of a decoder, in addition to its message type. */
export type DecoderOptions = {
  readonly rules?: Rules | undefined;
  readonly bounds?: FieldBounds | undefined;
  /** The types that an Any may contain in JSON. */
  readonly registry?: Registry | undefined;
  /** Whether JSON may have fields that the message does not have. */
  readonly ignoresUnknown?: boolean | undefined;
};

/** Makes the decoder of a message type. */
export function decoderOf(
  type: DescMessage,
  { rules = noRules, bounds, registry = anyTypes, ignoresUnknown }: DecoderOptions,
): Decoder {
  const count = itemCount(type, bounds);
  const fromDraft = (draft: Draft, pause?: Pause) => {
    count.json(draft.value);
    const how = { rules, registry, ignoresUnknown };
    return pause ? decodeJsonInPieces(type, draft, { ...how, pause }) : decodeJson(type, draft, how);
  };
  const whole = (bytes: Uint8Array) => {
    try {
      return fromBinary(type, bytes, dropUnknown);
    } catch (cause) {
      throw notProtobuf(type, bytes, cause);
    }
  };
  return {
    fromBinary(bytes, pause) {
      try {
        count.binary(bytes);
      } catch (cause) {
        throw cause instanceof GatewayError ? cause : notProtobuf(type, bytes, cause);
      }
      const pieces = pause && piecesOfBinary(bytes);
      // The decoder reads a known field as declared, whatever the tag says, so that it alone can tell whether a message is readable.
      return pieces ? merged(type, pieces, pause).catch(() => whole(bytes)) : whole(bytes);
    },
    fromJson: (text, pause) => fromDraft(readJsonObject(text, type), pause),
    fromDraft,
  };
}

const dropUnknown = { readUnknownFields: false };

/** Decodes a message from its fields: several encoded messages, one after another, are encoded as one that merges them. */
async function merged(type: DescMessage, pieces: readonly Uint8Array[], pause: Pause): Promise<Message> {
  const message: Message = create(type);
  for (const piece of pieces) {
    mergeFromBinary(type, message, piece, dropUnknown);
    await pause();
  }
  return message;
}

function notProtobuf(type: DescMessage, bytes: Uint8Array, cause: unknown): GatewayError {
  const { byte = 0, field } = binaryFault(type, bytes) ?? {};
  return field === undefined
    ? unreadable("BODY_NOT_PROTOBUF", { byte }, cause)
    : unreadable("FIELD_NOT_PROTOBUF", { byte, field }, cause);
}

const noRules: Rules = () => [];
