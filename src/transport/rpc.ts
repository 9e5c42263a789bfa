import { refuse } from "../errors.ts";
import { readBody } from "./exchange.ts";
import { decodeJson, readJsonObject, twice } from "./json.ts";
import { type Parts, type Room, visit } from "./rooms.ts";

/** Plain JSON by POST on the path of an rpc, for clients that speak no protocol at all. */
export function rpcRoom(parts: Parts): Room {
  const known = new Map(
    [...parts.operations.values()].map((operation) => [
      operation.path,
      { operation, rules: parts.rules(operation.method.input) },
    ]),
  );
  return (asked, call) => {
    const found = known.get(asked.path);
    if (!found) return undefined;
    if (asked.method !== "POST") throw refuse.because("METHOD_NOT_ALLOWED", { params: { allow: "POST" } });
    const { operation, rules } = found;
    const decode = async () => {
      const { value, repeated } = readJsonObject(await readBody(asked));
      return decodeJson(operation.method.input, { value, violations: twice(repeated) }, rules);
    };
    return visit(parts, { asked, call, operation, decode });
  };
}
