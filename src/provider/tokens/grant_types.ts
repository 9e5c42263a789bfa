import { ClientRefused } from "../http/oauth_error.ts";
import { required } from "../http/parameters.ts";
import type { Authenticate, TokenQuestion } from "../request/client_authentication.ts";
import { isAdmitted, isDocumentId } from "../request/document_id.ts";
import { type GrantType, refuseGrantType } from "../request/grant_type.ts";
import { codeGrant } from "./code_grant.ts";
import { deviceGrant } from "./device_grant.ts";
import { type Exchange, type ExchangeParts, notInForce, type TokenResponse } from "./grant_exchange.ts";
import { clientCredentialsGrant, jwtBearerGrant } from "./machine_grant.ts";
import { refreshGrant } from "./refresh_grant.ts";
import { tokenExchangeGrant } from "./token_exchange_grant.ts";
import { noKey, tokenKeys } from "./token_key.ts";

/** The exchange of a grant type, as the token endpoint calls it. */
type Opened = (request: TokenQuestion) => Promise<TokenResponse>;
type Parts = ExchangeParts & { readonly authenticate: Authenticate };

const longestValue = 200;

/** A grant type with the checks of the token endpoint: the client authenticates, and must be registered for it. */
const exchanged =
  <T>({ type, parameter, open }: Exchange<T>) =>
  (parts: Parts): Opened => {
    const { read, exchange } = open(parts);
    const keyOf = tokenKeys(parts.deps, parts.maker.issuer);
    return async (request) => {
      const [value, now] = [required(request.form, parameter, longestValue), parts.deps.clock()];
      const { clientId } = request.proof;
      const found = await read(clientId, value, now);
      // Such a client is known only by the token that it presents. If its host is no longer admitted, it is refused.
      if (!found && isDocumentId(clientId)) throw notInForce();
      if (found?.client.bringsDocument && !isAdmitted(parts.settings, clientId)) throw new ClientRefused();
      const client = await parts.authenticate(found?.client, request);
      refuseGrantType(client, type);
      const key = found?.found ? await keyOf(request, client) : noKey;
      return exchange(request, { client, value, found: found?.found, key, now });
    };
  };

/** The grant types as the token endpoint serves them; null for one that it does not. */
export const grants: Readonly<Record<GrantType, ((parts: Parts) => Opened) | null>> = {
  authorization_code: exchanged(codeGrant),
  // Issues its tokens in the response of the authorization endpoint.
  implicit: null,
  refresh_token: exchanged(refreshGrant),
  "urn:ietf:params:oauth:grant-type:device_code": exchanged(deviceGrant),
  // Only for machines.
  client_credentials: clientCredentialsGrant,
  "urn:ietf:params:oauth:grant-type:jwt-bearer": jwtBearerGrant,
  "urn:ietf:params:oauth:grant-type:token-exchange": tokenExchangeGrant,
};
