import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { refuse } from "../../errors.ts";
import { decodeJson, encodeJson, readJsonObject, twice } from "../json.ts";
import type { Parts } from "../rooms.ts";
import type { Format, UnaryOperation } from "./visit.ts";

/** A unary operation with the formats of its messages. */
export type RpcFormats = { readonly operation: UnaryOperation; readonly binary: Format; readonly json: Format };

/** Every unary operation by its rpc path. */
export function formats({ operations, rules }: Pick<Parts, "operations" | "rules">): ReadonlyMap<string, RpcFormats> {
  const unary = [...operations.values()].filter((operation) => operation.kind === "unary");
  return new Map(
    unary.map((operation) => [operation.path, { operation, binary: binary(operation), json: json(operation, rules) }]),
  );
}

function binary({ method: { input, output } }: UnaryOperation): Format {
  return {
    decode(bytes) {
      try {
        return fromBinary(input, bytes, { readUnknownFields: false });
      } catch (cause) {
        throw refuse.because("MALFORMED_BODY", { cause });
      }
    },
    encode: (answer) => toBinary(output, answer),
  };
}

function json({ method: { input, output } }: UnaryOperation, rules: Parts["rules"]): Format {
  const broken = rules(input);
  return {
    decode(bytes) {
      const { value, repeated } = readJsonObject(bytes);
      return decodeJson(input, { value, violations: twice(repeated) }, broken);
    },
    encode: (answer) => JSON.stringify(encodeJson(output, answer)),
  };
}
