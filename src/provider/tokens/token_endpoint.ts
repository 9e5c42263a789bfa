import { OauthError } from "../http/oauth_error.ts";
import { required } from "../http/parameters.ts";
import type { Authenticate, TokenQuestion } from "../request/client_authentication.ts";
import { isConsole } from "../request/console_client.ts";
import { noBoundTokens } from "../request/target.ts";
import { type ConsoleToken, consoleGrant } from "./console_sign_on.ts";
import type { ExchangeParts, TokenResponse } from "./grant_exchange.ts";
import { clientRead } from "./grant_read.ts";
import { grants } from "./grant_types.ts";

type Parts = ExchangeParts & { readonly authenticate: Authenticate; readonly consoleIssuer: () => string | undefined };

const longestType = 200;

export function tokenEndpoint(parts: Parts) {
  const { deps, authenticate, consoleIssuer } = parts;
  const clientOf = clientRead(deps.sql);
  const opened = new Map(
    Object.entries(grants).flatMap(([name, open]) => (open ? [[name, open(parts)] as const] : [])),
  );
  const types = listed([...opened.keys()]);

  const forConsole = consoleGrant({ deps, issuer: parts.maker.issuer, authenticate });

  return async (request: TokenQuestion): Promise<TokenResponse | ConsoleToken> => {
    if (isConsole(request.proof) && consoleIssuer() !== undefined) {
      if (request.dpop !== undefined) throw noBoundTokens();
      return forConsole(request);
    }
    const exchange = opened.get(required(request.form, "grant_type", longestType));
    if (exchange) return exchange(request);
    await authenticate(await clientOf(request.proof.clientId, deps.clock()), request);
    throw new OauthError("unsupported_grant_type", `grant_type must be ${types}`);
  };
}

const listed = (names: readonly string[]): string => `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
