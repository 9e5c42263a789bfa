import { authorizeUrl } from "../application.ts";
import { openBrowser } from "../browser.ts";
import { ended, type Outcome, type Scene, type Scenes } from "./outcome.ts";
import type { Clients, Peer } from "./peer.ts";

type Changes = Readonly<Record<string, string | undefined>>;

/** Opens an authorization request in a browser that is signed in nowhere. */
async function opened(peer: Peer, name: keyof Clients, changes: Changes, more = ""): Promise<Outcome> {
  const url = authorizeUrl(peer.issuer, peer.clients[name], changes) + more;
  return ended(peer, await openBrowser(peer.issuer).open(url));
}

const none = { code_challenge: undefined, code_challenge_method: undefined };
const implicit = { ...none, response_type: "id_token" };

const ofWeb: Readonly<Record<string, Changes>> = {
  "a request for a code": {},
  "a request without PKCE": none,
  "a request without a state": { state: undefined },
  "a request without a nonce": { nonce: undefined },
  "a parameter that is not known": { unknown: "x" },
  "a scope that is not known": { scope: "openid unknown" },
  "scopes in another order": { scope: "email profile openid" },
  "display=page": { display: "page" },
  "display=popup": { display: "popup" },
  "the claims in another language": { claims_locales: "se" },
  "a request without a scope": { scope: undefined, nonce: undefined },
  "no response_type": { response_type: undefined },
  "a response_type that does not exist": { response_type: "token-ring" },
  "a response_type that is not the client's": implicit,
  "a response_mode that does not exist": { response_mode: "pigeon" },
  "no client_id": { client_id: undefined },
  "an unknown client": { client_id: "nobody" },
  "no redirect_uri": { redirect_uri: undefined },
  "code_challenge_method plain": { code_challenge_method: "plain" },
  "a code_challenge without a method": { code_challenge_method: undefined },
  "a code_challenge_method without a challenge": { code_challenge: undefined },
  "a code_challenge that is too short": { code_challenge: "short" },
  "prompt=none without a session": { prompt: "none" },
  "prompt=none login": { prompt: "none login" },
  "a prompt that does not exist": { prompt: "maybe" },
  "a negative max_age": { max_age: "-1" },
  "a max_age that is no number": { max_age: "x" },
  "an id_token_hint that is no token": { id_token_hint: "x" },
  "a request object": { request: "x" },
  "a request_uri": { request_uri: "https://evil.example/request" },
  "a registration": { registration: "{}" },
};

const redirects: Readonly<Record<string, string>> = {
  "at another host": "https://evil.example/cb",
  "at a host that only begins so": "https://app.example.evil.example/cb",
  "with user information": "https://app.example@evil.example/cb",
  "with a dotted path": "https://app.example/x/../cb",
  "with another path below": "https://app.example/cb/more",
  "with another case": "https://app.example/CB",
  "with the host in another case": "https://APP.example/cb",
  "with the port of https": "https://app.example:443/cb",
  "with another port": "https://app.example:8443/cb",
  "by http": "http://app.example/cb",
  "with a query": "https://app.example/cb?x=1",
  "with a fragment": "https://app.example/cb#x",
  "with a slash at its end": "https://app.example/cb/",
  "with a slash that is encoded": "https://app.example%2fcb",
  "with a blank before it": " https://app.example/cb",
  "of a script": "javascript:alert(1)",
};

const nativeRedirects: Readonly<Record<string, string>> = {
  "at another port of its loopback address": "http://127.0.0.1:49152/cb",
  "at another loopback address": "http://127.0.0.2/cb",
  "at localhost": "http://localhost/cb",
  "at another path": "http://127.0.0.1:49152/other",
};

const twice = ["client_id=web", "redirect_uri=https%3A%2F%2Fevil.example%2Fcb", "scope=openid", "state=2", "nonce=2"];

const named = <T>(table: Readonly<Record<string, T>>, scene: (value: T) => Scene): Scenes =>
  Object.fromEntries(Object.entries(table).map(([name, value]) => [name, scene(value)]));

/** The requests to the authorization endpoint, right ones and wrong ones. */
export const authorizeScenes: Scenes = {
  ...named(ofWeb, (changes) => (peer) => opened(peer, "web", changes)),
  ...named(
    Object.fromEntries(Object.entries(redirects).map(([name, uri]) => [`a redirect URI ${name}`, uri])),
    (redirect_uri) => (peer) => opened(peer, "web", { redirect_uri }),
  ),
  ...named(
    Object.fromEntries(Object.entries(nativeRedirects).map(([name, uri]) => [`a native redirect URI ${name}`, uri])),
    (redirect_uri) => (peer) => opened(peer, "native", { redirect_uri }),
  ),
  ...Object.fromEntries(
    twice.map((more) => [`${more.split("=")[0]} twice`, (peer: Peer) => opened(peer, "web", {}, `&${more}`)]),
  ),
  "a public client without PKCE": (peer) => opened(peer, "public", none),
  "a native client without PKCE": (peer) => opened(peer, "native", none),
  "an ID token without a nonce": (peer) => opened(peer, "implicit", { ...implicit, nonce: undefined }),
  "an ID token by query": (peer) => opened(peer, "implicit", { ...implicit, response_mode: "query" }),
  "a token alone": (peer) => opened(peer, "implicit", { ...implicit, response_type: "token" }),
  "a code of an implicit client": (peer) => opened(peer, "implicit", none),
  "an ID token at prompt=none": (peer) => opened(peer, "implicit", { ...implicit, prompt: "none" }),
};
