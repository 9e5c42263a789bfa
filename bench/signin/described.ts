import type { SignOnCalls } from "./sign_on_calls.ts";

type Description = Readonly<
  Record<"issuer" | "authorization_endpoint" | "token_endpoint" | "userinfo_endpoint" | "jwks_uri", string>
>;

/** Reads the paths and the keys of a provider from its description. */
export async function described(issuer: string): Promise<Omit<SignOnCalls, "client" | "browsers">> {
  const found = (await jsonAt(`${issuer}/.well-known/openid-configuration`)) as Description;
  const { keys } = (await jsonAt(found.jwks_uri)) as Pick<SignOnCalls, "keys">;
  return {
    issuer: found.issuer,
    authorize: new URL(found.authorization_endpoint).pathname,
    token: new URL(found.token_endpoint).pathname,
    userinfo: new URL(found.userinfo_endpoint).pathname,
    keys: keys.filter(({ use }) => use === "sig"),
  };
}

async function jsonAt(url: string): Promise<unknown> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return response.json();
}
