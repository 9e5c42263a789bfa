import { decodeJwt, decodeProtectedHeader } from "jose";
import { answerIn, authorizeUrl, exchange, signIn } from "../application.ts";
import { openBrowser, type Shown } from "../browser.ts";
import { ended, type Outcome, type Scenes } from "./outcome.ts";
import { type Clients, type Peer, signedIn } from "./peer.ts";

type Changes = Readonly<Record<string, string | undefined>>;

/** The outcome of a second request in a browser that is signed in. */
async function again(peer: Peer, changes: Changes, name: keyof Clients = "web"): Promise<Outcome> {
  const browser = await signedIn(peer);
  return ended(peer, await browser.open(authorizeUrl(peer.issuer, peer.clients[name], changes)));
}

/** The ID token of a fresh sign-in. */
async function idTokenOf(peer: Peer, changes: Changes = {}): Promise<string> {
  const { issuer, clients, person } = peer;
  const shown = await signIn(openBrowser(issuer), authorizeUrl(issuer, clients.web, changes), person);
  return (await exchange(issuer, clients.web, answerIn(shown).code ?? "")).body.id_token;
}

const none = { code_challenge: undefined, code_challenge_method: undefined };

/** The fields of the form that posts a response to the application. */
const fieldsOf = ({ text }: Shown): Outcome =>
  [...text.matchAll(/<input type="hidden" name="([^"]*)"/g)].map(([, name = ""]) => name).sort();

/** Requests of browsers that sign in, and that are signed in. */
export const sessionScenes: Scenes = {
  "a sign-in": async (peer) => {
    const { issuer, clients, person } = peer;
    return ended(peer, await signIn(openBrowser(issuer), authorizeUrl(issuer, clients.web), person));
  },
  "a second request": (peer) => again(peer, {}),
  "a second request at another client": async (peer) => {
    const browser = await signedIn(peer);
    return ended(peer, await browser.open(authorizeUrl(peer.issuer, peer.clients.other)));
  },
  "a second request of a native client": async (peer) => {
    const browser = await signedIn(peer);
    return ended(peer, await browser.open(authorizeUrl(peer.issuer, peer.clients.native)));
  },
  "prompt=none with a session": (peer) => again(peer, { prompt: "none" }),
  "prompt=login with a session": (peer) => again(peer, { prompt: "login" }),
  "prompt=consent with a session": (peer) => again(peer, { prompt: "consent" }),
  "max_age=10000 with a session": (peer) => again(peer, { max_age: "10000" }),
  "max_age=0 with a session": (peer) => again(peer, { max_age: "0" }),
  "max_age=0 with prompt=none": (peer) => again(peer, { max_age: "0", prompt: "none" }),
  "prompt=none with an id_token_hint of the user": async (peer) => {
    const browser = await signedIn(peer);
    const hint = { prompt: "none", id_token_hint: await idTokenOf(peer) };
    return ended(peer, await browser.open(authorizeUrl(peer.issuer, peer.clients.web, hint)));
  },
  "a session without its cookie": async (peer) => {
    const browser = await signedIn(peer);
    browser.cookies.clear();
    return ended(peer, await browser.open(authorizeUrl(peer.issuer, peer.clients.web, { prompt: "none" })));
  },
  "an authorization request by POST": async (peer) => {
    const browser = await signedIn(peer);
    const body = new URL(authorizeUrl(peer.issuer, peer.clients.web)).searchParams;
    const target = `${peer.issuer}/oauth/authorize`;
    const first = await browser.send(target, { method: "POST", body });
    const location = new URL(first.headers.get("location") ?? "", target).href;
    return ended(peer, location.startsWith(peer.issuer) ? await browser.open(location) : { ...first, url: location });
  },
  "a response by form_post": async (peer) => {
    const { issuer, clients, person } = peer;
    const url = authorizeUrl(issuer, clients.web, { response_mode: "form_post" });
    return fieldsOf(await signIn(openBrowser(issuer), url, person));
  },
  "an error by form_post": async ({ issuer, clients }) => {
    const changes = { response_mode: "form_post", prompt: "none" };
    const fields = fieldsOf(await openBrowser(issuer).open(authorizeUrl(issuer, clients.web, changes)));
    return (fields as string[]).filter((name) => name !== "error_description");
  },
  "an ID token from the authorization endpoint": async (peer) => {
    const { issuer, clients, person } = peer;
    const url = authorizeUrl(issuer, clients.implicit, { ...none, response_type: "id_token" });
    return ended(peer, await signIn(openBrowser(issuer), url, person));
  },
  "an ID token with an access token from the authorization endpoint": async (peer) => {
    const { issuer, clients, person } = peer;
    const url = authorizeUrl(issuer, clients.implicit, { ...none, response_type: "token id_token" });
    const shown = await signIn(openBrowser(issuer), url, person);
    const token = new URLSearchParams(new URL(shown.url).hash.slice(1)).get("id_token") ?? "";
    return [ended(peer, shown), Object.keys(decodeJwt(token)).sort()];
  },
  "the header and the claims of an ID token": async (peer) => {
    const token = await idTokenOf(peer, { scope: "openid profile email" });
    const claims = decodeJwt(token);
    return [
      Object.keys(decodeProtectedHeader(token)).sort(),
      Object.keys(claims).sort(),
      claims.iss === peer.issuer,
      claims.aud === peer.clients.web.clientId,
      claims.nonce === "n1",
    ];
  },
};
