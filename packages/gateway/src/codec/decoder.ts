import { type DescMessage, fromBinary, type Message, type Registry } from "@bufbuild/protobuf";
import { GatewayError } from "../errors/gateway_error.ts";
import { unreadable } from "../errors/problem.ts";
import { binaryFault } from "./binary_fault.ts";
import type { FieldBounds } from "./field_bounds.ts";
import { itemCount } from "./item_count.ts";
import { anyTypes, type Draft, decodeJson, type Rules, readJsonObject } from "./json.ts";

/** Decodes messages of one type for every protocol. Their values are counted first, because a decoder cannot be stopped midway. */
export type Decoder = {
  readonly fromBinary: (bytes: Uint8Array) => Message;
  /** Decodes JSON text. */
  readonly fromJson: (text: Uint8Array) => Message;
  /** Decodes a JSON value made from a body, a path and a query. */
  readonly fromDraft: (draft: Draft) => Message;
};

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
  const fromDraft = (draft: Draft) => {
    count.json(draft.value);
    return decodeJson(type, draft, { rules, registry, ignoresUnknown });
  };
  return {
    fromBinary(bytes) {
      try {
        count.binary(bytes);
        return fromBinary(type, bytes, { readUnknownFields: false });
      } catch (cause) {
        throw cause instanceof GatewayError ? cause : notProtobuf(type, bytes, cause);
      }
    },
    fromJson: (text) => fromDraft(readJsonObject(text, type)),
    fromDraft,
  };
}

function notProtobuf(type: DescMessage, bytes: Uint8Array, cause: unknown): GatewayError {
  const { byte = 0, field } = binaryFault(type, bytes) ?? {};
  return field === undefined
    ? unreadable("BODY_NOT_PROTOBUF", { byte }, cause)
    : unreadable("FIELD_NOT_PROTOBUF", { byte, field }, cause);
}

const noRules: Rules = () => [];
