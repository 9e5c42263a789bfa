import { decodeJwt } from "jose";
import type { Parameters } from "../http/parameters.ts";

/**
 * The parameters that an error response uses. A request may state its state and response mode only inside a request object (OpenID Connect
 * Core 1.0, 6.1). We do not support request objects, and say so using that mode and state, which are as trustworthy there as in the query.
 */
export function withRequestObject(parameters: Parameters): Parameters {
  const object = parameters.get("request");
  if (object === undefined) return parameters;
  const claims = claimsIn(object);
  const { repeated, all, names } = parameters;
  return {
    repeated,
    all,
    names,
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
