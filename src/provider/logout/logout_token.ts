import { fromJson } from "@bufbuild/protobuf";
import { OidcConfigurationSchema } from "../../../gen/postern/v1/application_pb.ts";
import type { Deps } from "../../deps.ts";
import { isBackChannelUri } from "../../services/applications/compliance.ts";
import { type FetchSettings, outwardPost } from "../http/fetcher.ts";
import { secondsOf } from "../http/settings.ts";
import type { ClientRow } from "../request/client.ts";
import { skewOf } from "../tokens/claims.ts";
import { signJwt } from "../tokens/jwt.ts";
import type { SigningKeys } from "../tokens/signing_keys.ts";
import { algorithmOf } from "../tokens/tokens.ts";

/** A session that ended, and an application to notify; its client id is null once the application is deleted. */
export type EndedAt = {
  readonly sessionId: string;
  readonly userId: string;
  readonly clientId: string | null;
  readonly oidc: ClientRow["oidc"] | null;
};

type Parts = {
  readonly deps: Pick<Deps, "clock" | "ids">;
  readonly keys: SigningKeys;
  readonly issuer: string;
  readonly settings: FetchSettings;
};

const lifeSeconds = 120;
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout";

/**
 * Makes the function that notifies an application of the end of a session (OpenID Connect Back-Channel Logout 1.0, 2.5). It returns the
 * status of the response, or undefined if the application has no back-channel URI. Each attempt has a token of its own.
 */
export function logoutSender({ deps, keys, issuer, settings }: Parts) {
  const postForm = outwardPost(settings);
  const { clock, ids } = deps;

  return async ({ sessionId, userId, clientId, oidc: row }: EndedAt): Promise<number | undefined> => {
    if (clientId === null || row === null) return undefined;
    const oidc = fromJson(OidcConfigurationSchema, row, { ignoreUnknownFields: true });
    const { backChannelLogoutUri: uri } = oidc;
    if (!isBackChannelUri(uri)) return undefined;
    const skew = skewOf({ oidc });
    const now = secondsOf(clock());
    const claims = {
      iss: issuer,
      aud: clientId,
      iat: now - skew,
      exp: now + lifeSeconds + skew,
      jti: ids(),
      sub: userId,
      sid: sessionId,
      events: { [logoutEvent]: {} },
    };
    const token = await signJwt(keys, { type: "logout+jwt", algorithm: algorithmOf({ oidc }), claims });
    return postForm(uri, { logout_token: token });
  };
}

const ending: readonly string[] = ["session.ended", "user.password_changed", "user.deactivated", "user.deleted"];

export const endsSessions = ({ type }: { readonly type: string }): boolean => ending.includes(type);
