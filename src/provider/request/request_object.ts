import { decodeJwt } from "jose";
import type { Parameters } from "../http/parameters.ts";

/**
 * The parameters by which a refusal goes back. A request may name its state and its mode within a request object alone (OpenID Connect
 * Core 1.0, 6.1); we take no such objects, and say so in that mode, with that state. Both are worth as much there as in the query.
 */
export function withRequestObject(parameters: Parameters): Parameters {
  const object = parameters.get("request");
  if (object === undefined) return parameters;
  const claims = claimsIn(object);
  const { repeated } = parameters;
  return {
    repeated,
    get: (name) => parameters.get(name) ?? (repeated.includes(name) ? undefined : textIn(claims, name)),
  };
}

type Claims = Readonly<Record<string, unknown>>;

function claimsIn(object: string): Claims {
  try {
    return decodeJwt(object);
  } catch {
    return {};
  }
}

function textIn(claims: Claims, name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  return typeof value === "string" && !value.includes("\0") ? value : undefined;
}
