import { answerIn, authorizeUrl, basic, exchange, post, verifier } from "../application.ts";
import type { Browser } from "../browser.ts";
import { answered, type Outcome, type Scene, type Scenes } from "./outcome.ts";
import { type Clients, type Peer, signedIn } from "./peer.ts";

type Texts = Readonly<Record<string, string>>;
type Changes = Readonly<Record<string, string | undefined>>;

// Signing in anew for each of a hundred codes would take most of the time of these scenes.
const browsers = new WeakMap<Peer, Promise<Browser>>();

/** The browser of a peer that is signed in; it signs in once. */
function browserOf(peer: Peer): Promise<Browser> {
  const known = browsers.get(peer) ?? signedIn(peer);
  browsers.set(peer, known);
  return known;
}

/** A code for the user of the browser; a page that asks for a click gets it. */
async function codeOf(peer: Peer, name: keyof Clients, changes: Changes = {}): Promise<string> {
  const browser = await browserOf(peer);
  let shown = await browser.open(authorizeUrl(peer.issuer, peer.clients[name], changes));
  for (const action of ["allow", "continue"])
    if (shown.text.includes(`name="action" value="${action}"`)) shown = await browser.submit(shown, {}, action);
  const { code } = answerIn(shown);
  if (code === undefined) throw new Error(`no code, but ${shown.url}`);
  return code;
}

const offline = { scope: "openid offline_access", prompt: "consent" };

/** The tokens for a code. */
async function tokensOf(peer: Peer, name: keyof Clients = "web", changes: Changes = {}): Promise<Texts> {
  const { issuer, clients } = peer;
  return (await exchange(issuer, clients[name], await codeOf(peer, name, changes))).body;
}

/** The form that presents a code. */
const presented = ({ clients }: Peer, name: keyof Clients, code: string): Record<string, string> => ({
  ...{ grant_type: "authorization_code", code, redirect_uri: clients[name].redirectUri, code_verifier: verifier },
});

type Exchange = {
  readonly at?: keyof Clients;
  readonly changes?: Changes;
  /** Fields in place of those of a right form; an empty text leaves one out. */
  readonly form?: Texts;
  readonly headers?: (peer: Peer) => Texts;
  readonly of?: keyof Clients;
};

const exchanged =
  ({ at = "web", of = at, changes = {}, form = {}, headers }: Exchange): Scene =>
  async (peer) => {
    const all = { ...presented(peer, of, await codeOf(peer, of, changes)), ...form };
    const fields = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
    return answered(peer, await post(peer.issuer, "/oauth/token", fields, (headers ?? basicOf(at))(peer)));
  };

const basicOf = (name: keyof Clients) => (peer: Peer) => basic(peer.clients[name]);
const wrongBasic = ({ clients: { web } }: Peer) => basic({ ...web, clientSecret: "wrong" });
const nothing = () => ({});
const noPkce = { code_challenge: undefined, code_challenge_method: undefined };

const exchanges: Readonly<Record<string, Exchange>> = {
  "a code for tokens": {},
  "a code for tokens without a nonce": { changes: { nonce: undefined } },
  "a code for tokens without openid": { changes: { scope: "profile", nonce: undefined } },
  "a code of another client": { at: "other", of: "web" },
  "a code with another redirect URI": { form: { redirect_uri: "https://app.example/other" } },
  "a code without its redirect URI": { form: { redirect_uri: "" } },
  "a code with another verifier": { form: { code_verifier: verifier.replace("1", "2") } },
  "a code without its verifier": { form: { code_verifier: "" } },
  "a code with a verifier that is too short": { form: { code_verifier: "short" } },
  "a code with a verifier that had no challenge": { changes: noPkce },
  "a code that nobody made": { form: { code: "nobody-made-this" } },
  "no code": { form: { code: "" } },
  "no grant_type": { form: { grant_type: "" } },
  "a grant_type that does not exist": { form: { grant_type: "magic" } },
  "a grant_type that is not the client's": { form: { grant_type: "refresh_token", refresh_token: "x" } },
  "a wrong secret": { headers: wrongBasic },
  "no authentication": { headers: nothing },
  "an unknown client at the token endpoint": { headers: () => basic({ clientId: "nobody", clientSecret: "x" }) },
  "a header that is no Basic": { headers: () => ({ authorization: "Basic !" }) },
  "a client of basic that has no secret": { form: { client_id: "web" }, headers: nothing },
};

/** Uses a token that a sign-in gave. */
const withToken =
  (use: (peer: Peer, token: string) => Promise<Outcome>): Scene =>
  async (peer) =>
    use(peer, (await tokensOf(peer)).access_token ?? "");

/** A request to userinfo, as its status, the scheme and error of its challenge, and the names of its claims. */
async function userinfo(peer: Peer, request: RequestInit, query = ""): Promise<Outcome> {
  const answer = await fetch(`${peer.issuer}/oauth/userinfo${query}`, request);
  const body = (await answer.json()) as Record<string, unknown>;
  const challenge = answer.headers.get("www-authenticate");
  if (answer.status === 200) return [answer.status, Object.keys(body).sort()];
  const [, error = null] = /error="([^"]*)"/.exec(challenge ?? "") ?? [];
  return [answer.status, challenge?.split(" ")[0] ?? null, error, String(body.error)];
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

const userinfoScenes: Scenes = {
  "userinfo by GET": withToken((peer, token) => userinfo(peer, bearer(token))),
  "userinfo by POST": withToken((peer, token) => userinfo(peer, { method: "POST", ...bearer(token) })),
  "userinfo by a form": withToken((peer, token) =>
    userinfo(peer, { method: "POST", body: new URLSearchParams({ access_token: token }) }),
  ),
  "userinfo with the token in the query": withToken((peer, token) => userinfo(peer, {}, `?access_token=${token}`)),
  "userinfo with the token twice": withToken((peer, token) =>
    userinfo(peer, { method: "POST", body: new URLSearchParams({ access_token: token }), ...bearer(token) }),
  ),
  "userinfo without a token": (peer) => userinfo(peer, {}),
  "userinfo with a token that nobody made": (peer) => userinfo(peer, bearer("nobody-made-this")),
  "userinfo with an ID token": async (peer) => userinfo(peer, bearer((await tokensOf(peer)).id_token ?? "")),
  "userinfo without openid": async (peer) =>
    userinfo(peer, bearer((await tokensOf(peer, "web", { scope: "profile", nonce: undefined })).access_token ?? "")),
  "userinfo with the scope profile": async (peer) =>
    userinfo(peer, bearer((await tokensOf(peer, "web", { scope: "openid profile" })).access_token ?? "")),
};

const introspect = async (peer: Peer, token: string, headers: Texts = basic(peer.clients.web)): Promise<Outcome> =>
  answered(peer, await post(peer.issuer, "/oauth/introspect", { token }, headers));
const revoke = async (peer: Peer, token: string, headers: Texts = basic(peer.clients.web)): Promise<Outcome> =>
  answered(peer, await post(peer.issuer, "/oauth/revoke", { token }, headers));

const tokenScenes: Scenes = {
  "introspection of an access token": withToken((peer, token) => introspect(peer, token)),
  "introspection of a token that nobody made": (peer) => introspect(peer, "nobody-made-this"),
  "introspection without a token": (peer) => introspect(peer, ""),
  "introspection without authentication": withToken((peer, token) => introspect(peer, token, {})),
  "introspection with a wrong secret": withToken((peer, token) => introspect(peer, token, wrongBasic(peer))),
  "introspection by a client without a secret": withToken(async (peer, token) => {
    const form = { token, client_id: peer.clients.public.clientId };
    return answered(peer, await post(peer.issuer, "/oauth/introspect", form));
  }),
  "introspection by another client": withToken((peer, token) => introspect(peer, token, basic(peer.clients.other))),
  "introspection of an ID token": async (peer) => introspect(peer, (await tokensOf(peer)).id_token ?? ""),
  "revocation of an access token": withToken(async (peer, token) => [
    await revoke(peer, token),
    await userinfo(peer, bearer(token)),
    await introspect(peer, token),
    await revoke(peer, token),
  ]),
  "revocation of a token that nobody made": (peer) => revoke(peer, "nobody-made-this"),
  "revocation without authentication": withToken((peer, token) => revoke(peer, token, {})),
  "revocation by another client": withToken(async (peer, token) => [
    await revoke(peer, token, basic(peer.clients.other)),
    await userinfo(peer, bearer(token)),
  ]),
};

const refresh = async (peer: Peer, token: string, more: Texts = {}, at: keyof Clients = "offline") => {
  const form = { grant_type: "refresh_token", refresh_token: token, ...more };
  return post(peer.issuer, "/oauth/token", form, basic(peer.clients[at]));
};

const withRefresh =
  (use: (peer: Peer, tokens: Texts & { refresh_token: string }) => Promise<Outcome>): Scene =>
  async (peer) => {
    const tokens = await tokensOf(peer, "offline", offline);
    return use(peer, { ...tokens, refresh_token: tokens.refresh_token ?? "" });
  };

const refreshScenes: Scenes = {
  "a refresh": withRefresh(async (peer, { refresh_token }) => answered(peer, await refresh(peer, refresh_token))),
  "a refresh replaces its token": withRefresh(async (peer, { refresh_token }) => {
    const { body } = await refresh(peer, refresh_token);
    return body.refresh_token !== refresh_token && body.refresh_token !== undefined;
  }),
  "a refresh with less scope": withRefresh(async (peer, { refresh_token }) => {
    const { status, body } = await refresh(peer, refresh_token, { scope: "openid" });
    return [status, body.scope];
  }),
  "a refresh with more scope": withRefresh(async (peer, { refresh_token }) =>
    answered(peer, await refresh(peer, refresh_token, { scope: "openid profile" })),
  ),
  "a refresh at a client without the grant type": withRefresh(async (peer, { refresh_token }) =>
    answered(peer, await refresh(peer, refresh_token, {}, "web")),
  ),
  "a refresh token that nobody made": async (peer) => answered(peer, await refresh(peer, "nobody-made-this")),
  "a refresh without its token": async (peer) => answered(peer, await refresh(peer, "")),
  "a refresh token that comes again at once": withRefresh(async (peer, { refresh_token }) => {
    const first = await refresh(peer, refresh_token);
    const second = await refresh(peer, refresh_token);
    const third = await refresh(peer, first.body.refresh_token);
    return [second.status, third.status];
  }),
  "a refresh token that is revoked": withRefresh(async (peer, { refresh_token, access_token = "" }) => [
    await revoke(peer, refresh_token, basic(peer.clients.offline)),
    answered(peer, await refresh(peer, refresh_token)),
    await userinfo(peer, bearer(access_token)),
  ]),
  "no refresh token without offline_access": async (peer) =>
    "refresh_token" in (await tokensOf(peer, "offline", { scope: "openid", prompt: "consent" })),
  "no refresh token at a client without the grant type": async (peer) =>
    "refresh_token" in (await tokensOf(peer, "web", offline)),
};

/** The token endpoint, userinfo, introspection, revocation and refresh tokens. */
export const tokensScenes: Scenes = {
  ...Object.fromEntries(Object.entries(exchanges).map(([name, exchange]) => [name, exchanged(exchange)])),
  "a code that comes again, and what it gave": async (peer) => {
    const { issuer, clients } = peer;
    const code = await codeOf(peer, "web");
    const first = await exchange(issuer, clients.web, code);
    const second = await exchange(issuer, clients.web, code);
    return [first.status, answered(peer, second), await userinfo(peer, bearer(first.body.access_token))];
  },
  "a secret in the form in place of the header": async (peer) => {
    const { clientId, clientSecret } = peer.clients.web;
    const form = { ...presented(peer, "web", await codeOf(peer, "web")), client_id: clientId };
    return answered(peer, await post(peer.issuer, "/oauth/token", { ...form, client_secret: clientSecret }));
  },
  "a secret in the header in place of the form": (peer) => exchanged({ at: "poster" })(peer),
  "a secret in the header and in the form": async (peer) => {
    const { clientId, clientSecret } = peer.clients.web;
    const form = { ...presented(peer, "web", await codeOf(peer, "web")), client_id: clientId };
    const headers = basic(peer.clients.web);
    return answered(peer, await post(peer.issuer, "/oauth/token", { ...form, client_secret: clientSecret }, headers));
  },
  "a code of a client without a secret": async (peer) => {
    const code = await codeOf(peer, "public");
    const form = { ...presented(peer, "public", code), client_id: peer.clients.public.clientId };
    return answered(peer, await post(peer.issuer, "/oauth/token", form));
  },
  "caches keep no tokens": withToken(async (peer) => {
    const answer = await exchange(peer.issuer, peer.clients.web, await codeOf(peer, "web"));
    return [answer.headers.get("cache-control"), answer.headers.get("content-type")?.split(";")[0] ?? null];
  }),
  "the token endpoint by GET": async ({ issuer }) => (await fetch(`${issuer}/oauth/token`)).status,
  "the token endpoint with JSON": async (peer) => {
    const body = JSON.stringify(presented(peer, "web", "x"));
    const headers = { "content-type": "application/json", ...basic(peer.clients.web) };
    const answer = await fetch(`${peer.issuer}/oauth/token`, { method: "POST", body, headers });
    return answered(peer, {
      status: answer.status,
      body: (await answer.json()) as object as Texts,
      headers: answer.headers,
    });
  },
  "grant_type twice": async (peer) => {
    const body = `${new URLSearchParams(presented(peer, "web", "x"))}&grant_type=authorization_code`;
    const headers = { "content-type": "application/x-www-form-urlencoded", ...basic(peer.clients.web) };
    const answer = await fetch(`${peer.issuer}/oauth/token`, { method: "POST", body, headers });
    return answered(peer, {
      status: answer.status,
      body: (await answer.json()) as object as Texts,
      headers: answer.headers,
    });
  },
  ...userinfoScenes,
  ...tokenScenes,
  ...refreshScenes,
};
