import { createHash } from "node:crypto";
import { sameBytes } from "../../security/compare.ts";
import { OauthError } from "../http/oauth_error.ts";
import type { Parameters } from "../http/parameters.ts";
import { type Exchange, notInForce, ofClient } from "./grant_exchange.ts";
import { clientAndCode, type FoundCode } from "./grant_read.ts";
import { redemption } from "./redemption.ts";
import { refuseOtherKey, type TokenKey } from "./token_key.ts";

/** The authorization code grant (RFC 6749, 4.1.3). */
export const codeGrant: Exchange<FoundCode> = {
  type: "authorization_code",
  parameter: "code",
  open(parts) {
    const redeem = redemption(parts);
    return {
      read: clientAndCode(parts.deps.sql),
      async exchange(request, presented) {
        const found = ofClient(presented);
        const { client, value: code, key } = presented;
        if (!found.isUsed) refuseWrong(found, request.form, key.jkt);
        return redeem(request, { client, found, key, of: { code, table: "authorization_codes" } });
      },
    };
  },
};

function refuseWrong(found: FoundCode, form: Parameters, jkt: TokenKey): void {
  const { redirectUri, challenge, isExpired, signOn } = found;
  if (isExpired || !signOn) throw notInForce();
  if (form.get("redirect_uri") !== redirectUri)
    throw new OauthError("invalid_grant", "redirect_uri is not that of the authorization request");
  if (!isVerifier(challenge, form.get("code_verifier")))
    throw new OauthError("invalid_grant", "code_verifier does not fit the code_challenge of the authorization request");
  refuseOtherKey(found.jkt, jkt);
}

/** Whether a verifier matches the challenge (RFC 7636, 4.6); without a challenge, no verifier matches. */
export function isVerifier(challenge: string | null, verifier: string | undefined): boolean {
  if (challenge === null || verifier === undefined) return challenge === null && verifier === undefined;
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false;
  const hash = createHash("sha256").update(verifier).digest("base64url");
  return sameBytes(Buffer.from(hash), Buffer.from(challenge));
}
