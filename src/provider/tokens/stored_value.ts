import type { Deps } from "../../deps.ts";
import { jwtMaxLength } from "../http/parameters.ts";
import { claimsOfOwn } from "./jwt.ts";
import type { SigningKeys } from "./signing_keys.ts";

type Parts = { readonly deps: Pick<Deps, "clock">; readonly keys: SigningKeys; readonly issuer: () => string };

/**
 * Makes the read of the value whose hash identifies an access token's row: the token itself, or the jti if it is one of our JWTs; undefined
 * for anything else.
 */
export function storedValueRead({ keys, issuer, deps }: Parts) {
  return async (token: string): Promise<string | undefined> => {
    if (token.length > jwtMaxLength) return undefined;
    if (!token.includes(".")) return isOpaque(token) ? token : undefined;
    const claims = await claimsOfOwn(keys, token, { issuer: issuer(), type: "at+jwt", at: deps.clock() });
    return claims?.jti;
  };
}

// A JWT's jti identifies its row too but is no secret: somebody who reads it in a log must not be able to present it as a token.
const isOpaque = (token: string): boolean => token.startsWith("oa_");
