import { toBinary } from "@bufbuild/protobuf";
import { decoderOf } from "../../codec/decoder.ts";
import { encodeJson } from "../../codec/json.ts";
import type { Parts } from "../rooms.ts";
import type { Format, UnaryOperation } from "./visit.ts";

/** A unary operation with the formats of its messages. */
export type RpcFormats = { readonly operation: UnaryOperation; readonly binary: Format; readonly json: Format };

/** Every unary operation by its rpc path. */
export function formats({ operations, rules }: Pick<Parts, "operations" | "rules">): ReadonlyMap<string, RpcFormats> {
  const unary = [...operations.values()].filter((operation) => operation.kind === "unary");
  return new Map(unary.map((operation) => [operation.path, formatsOf(operation, rules)]));
}

function formatsOf(operation: UnaryOperation, rules: Parts["rules"]): RpcFormats {
  const { input, output } = operation.method;
  const { fromBinary, fromJson } = decoderOf(input, rules(input));
  return {
    operation,
    binary: { decode: fromBinary, encode: (answer) => toBinary(output, answer) },
    json: { decode: fromJson, encode: (answer) => JSON.stringify(encodeJson(output, answer)) },
  };
}
