import { ClientRefused } from "../http/oauth_error.ts";
import { required } from "../http/parameters.ts";
import { refuseGrantType } from "../request/client.ts";
import { type Authenticate, grantOfAssertion, type TokenQuestion } from "../request/client_authentication.ts";
import { isAdmitted, isDocumentId } from "../request/document_id.ts";
import { codeGrant } from "./code_grant.ts";
import { deviceGrant } from "./device_grant.ts";
import { type Exchange, type ExchangeParts, notInForce, type TokenResponse } from "./grant_exchange.ts";
import { clientCredentialsGrant, jwtBearerGrant } from "./machine_grant.ts";
import { refreshGrant } from "./refresh_grant.ts";
import { grantOfExchange, tokenExchangeGrant } from "./token_exchange.ts";
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

/** The grant types by their names in requests and in the discovery document; null for one that the token endpoint does not serve. */
export const grants: Readonly<Record<string, ((parts: Parts) => Opened) | null>> = {
  authorization_code: exchanged(codeGrant),
  // Issues its tokens in the response of the authorization endpoint.
  implicit: null,
  refresh_token: exchanged(refreshGrant),
  "urn:ietf:params:oauth:grant-type:device_code": exchanged(deviceGrant),
  // Only for machines.
  client_credentials: clientCredentialsGrant,
  [grantOfAssertion]: jwtBearerGrant,
  [grantOfExchange]: tokenExchangeGrant,
};
