import { OidcAuthMethodType } from "../../../gen/postern/v1/application_pb.ts";
import { type Call, type Deps, keys } from "../../deps.ts";
import { sameBytes } from "../../security/compare.ts";
import { hashToken } from "../../security/token.ts";
import { ClientRefused, OauthError } from "../http/oauth_error.ts";
import { type Parameters, required } from "../http/parameters.ts";
import { noteClient } from "../pages/request_notes.ts";
import { acceptedAssertions, longestAssertion, subjectOf } from "./assertion.ts";
import type { Client } from "./client.ts";
import type { ClientKeys } from "./client_keys.ts";
import type { GrantType } from "./grant_type.ts";

/** A client's credentials, before they are checked. */
export type ClientProof = { readonly clientId: string } & (
  | { readonly method: "basic" | "post"; readonly secret: string }
  | { readonly method: "assertion"; readonly assertion: string }
  | { readonly method: "none" }
);

const longestId = 200;
const longestSecret = 200;
/** The grant type of RFC 7523, 2.1. */
const grantOfAssertion: GrantType = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** Reads a client's credentials; a request may use only one method (RFC 6749, 2.3). */
export function proofIn(authorization: string | undefined, form: Parameters): ClientProof {
  const assertion = form.get("client_assertion");
  const secret = form.get("client_secret");
  const ways = [authorization, assertion, secret].filter((way) => way !== undefined);
  if (ways.length > 1) throw new OauthError("invalid_request", "the client authenticates in more than one way");
  if (authorization !== undefined) return basicIn(authorization, form);
  if (assertion !== undefined) return assertionIn(assertion, form);
  const clientId = subjectOfGrant(form) ?? required(form, "client_id", longestId);
  return secret === undefined
    ? { method: "none", clientId }
    : { method: "post", clientId, secret: required(form, "client_secret", longestSecret) };
}

/** The subject of an assertion that is the grant itself, and identifies its client (RFC 7521, 4.1). */
function subjectOfGrant(form: Parameters): string | undefined {
  if (form.get("grant_type") !== grantOfAssertion || form.get("client_id") !== undefined) return undefined;
  const subject = subjectOf(form.get("assertion") ?? "");
  return subject !== undefined && subject.length <= longestId ? subject : "";
}

function basicIn(authorization: string, form: Parameters): ClientProof {
  const encoded = /^basic +([a-z0-9+/]+={0,2})$/i.exec(authorization.slice(0, 2_000))?.[1] ?? "";
  const [, id = "", text = ""] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, "base64").toString("utf8")) ?? [];
  const [clientId, secret] = [decoded(id), decoded(text)];
  const named = form.get("client_id");
  if (!clientId || secret === undefined || clientId.length > longestId || (named !== undefined && named !== clientId))
    throw new OauthError("invalid_client", "the authorization header is no client id and secret");
  return { method: "basic", clientId, secret };
}

/**
 * RFC 6749, 2.3.1: both values are form-encoded within the header. Clients that do not encode are accepted if their values are the same
 * either way.
 */
function decoded(text: string): string | undefined {
  try {
    const value = decodeURIComponent(text.replaceAll("+", "%20"));
    return value.includes("\0") ? undefined : value;
  } catch {
    return undefined;
  }
}

function assertionIn(assertion: string, form: Parameters): ClientProof {
  if (form.get("client_assertion_type") !== assertionType)
    throw new OauthError("invalid_request", `client_assertion_type must be ${assertionType}`);
  required(form, "client_assertion", longestAssertion);
  const clientId = subjectOf(assertion);
  const named = form.get("client_id");
  if (!clientId || clientId.length > longestId || (named !== undefined && named !== clientId))
    throw new OauthError("invalid_client", "the assertion names no client, or another than client_id");
  return { method: "assertion", clientId, assertion };
}

const methodOf: Readonly<Record<number, ClientProof["method"]>> = {
  [OidcAuthMethodType.BASIC]: "basic",
  [OidcAuthMethodType.POST]: "post",
  [OidcAuthMethodType.NONE]: "none",
  [OidcAuthMethodType.PRIVATE_KEY_JWT]: "assertion",
} satisfies Record<OidcAuthMethodType, ClientProof["method"]>;

/** A client's credentials, and the call that carries them; `onClient` receives the client that they name, before they are checked. */
export type ClientClaim = {
  readonly proof: ClientProof;
  readonly call: Call;
  readonly onClient: (client: Client) => void;
};

/** A client's request for tokens or about one: its form, the client's credentials, its call, and the proof of a key, if any. */
export type TokenQuestion = ClientClaim & { readonly form: Parameters; readonly dpop: string | undefined };

/** Returns the authenticated client, or fails. */
export type Authenticate = (client: Client | undefined, claim: ClientClaim) => Promise<Client>;

/** Makes the authentication of clients, only by the method that each is registered for. */
export function clientAuthentication(
  deps: Pick<Deps, "sql" | "clock">,
  { issuer, keysOf }: { readonly issuer: () => string; readonly keysOf: ClientKeys },
): Authenticate {
  const accepted = acceptedAssertions(deps, issuer);
  return async (client, { proof, call, onClient }) => {
    if (client) onClient(client);
    if (!client?.active) throw new ClientRefused();
    const registered = methodOf[client.oidc.authMethodType];
    if (registered !== proof.method) throw new ClientRefused(mismatch(client, { registered, used: proof.method }));
    if (!(await isRight(client, proof))) throw new ClientRefused();
    noteClient(call.values, client);
    if (proof.method !== "none") call.values.set(keys.clientOwner, client.owner);
    return client;
  };

  async function isRight(client: Client, proof: ClientProof): Promise<boolean> {
    switch (proof.method) {
      case "none":
        return true;
      case "basic":
      case "post":
        return isSecret(client, proof.secret);
      case "assertion":
        return isAssertion(client, proof.assertion);
    }
  }

  async function isAssertion(client: Client, assertion: string): Promise<boolean> {
    const of = { by: client.appId, clientId: client.clientId, keysOf: (kid?: string) => keysOf(client, kid) };
    return (await accepted(of, assertion, "a jti")) !== undefined;
  }
}

type Methods = { readonly registered: ClientProof["method"] | undefined; readonly used: ClientProof["method"] };

/** Most libraries choose a method themselves, so the error's log line says which one, and what to register. */
const mismatch = ({ clientId }: Client, { registered, used }: Methods): string =>
  `${clientId} is registered for ${registered ? named[registered] : "no method"}, and used ${named[used]}`;

const named: Readonly<Record<ClientProof["method"], string>> = {
  basic: "BASIC (client_secret_basic)",
  post: "POST (client_secret_post)",
  none: "NONE (none)",
  assertion: "PRIVATE_KEY_JWT (private_key_jwt)",
};

function isSecret({ secrets }: Client, secret: string): boolean {
  const hash = hashToken(secret);
  const matches = secrets.map((kept) => sameBytes(Buffer.from(kept, "hex"), hash));
  return matches.includes(true);
}
