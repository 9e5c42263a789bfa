import { required } from "../http/parameters.ts";
import { refuseGrantType } from "../request/client.ts";
import type { Authenticate, TokenQuestion } from "../request/client_authentication.ts";
import { codeGrant } from "./code_grant.ts";
import { deviceGrant } from "./device_grant.ts";
import type { Exchange, ExchangeParts, TokenResponse } from "./grant_exchange.ts";
import { refreshGrant } from "./refresh_grant.ts";

/** The exchange of a grant type, as the token endpoint calls it. */
type Opened = (request: TokenQuestion) => Promise<TokenResponse>;
type Parts = ExchangeParts & { readonly authenticate: Authenticate };

const longestValue = 200;

/** A grant type with the checks of the token endpoint: the client authenticates, and must be registered for it. */
const exchanged =
  <T>({ type, parameter, open }: Exchange<T>) =>
  (parts: Parts): Opened => {
    const { read, exchange } = open(parts);
    return async (request) => {
      const [value, now] = [required(request.form, parameter, longestValue), parts.deps.clock()];
      const found = await read(request.proof.clientId, value, now);
      const client = await parts.authenticate(found?.client, request);
      refuseGrantType(client, type);
      return exchange(request, { client, value, found: found?.found, now });
    };
  };

/** The grant types by their names in requests and in the discovery document; null for one that the token endpoint does not serve. */
export const grants: Readonly<Record<string, ((parts: Parts) => Opened) | null>> = {
  authorization_code: exchanged(codeGrant),
  // Issues its tokens in the response of the authorization endpoint.
  implicit: null,
  refresh_token: exchanged(refreshGrant),
  "urn:ietf:params:oauth:grant-type:device_code": exchanged(deviceGrant),
};
