// A web server whose users sign in at Postern: a code, PKCE and a client secret. The browser holds a cookie, the server the tokens.
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import * as oidc from "openid-client";
import { cookieIn, escaped, redirect, setCookie, show } from "./web.js";

const { ISSUER = "http://localhost:8080", CLIENT_ID = "", CLIENT_SECRET = "", PORT = "3000", APP_URL } = process.env;

// In memory, so a restart signs everybody out: keep them in a database once there are many users or processes.
const sessions = new Map();
const client = await discovered();
const routes = {
  "GET /": home,
  "GET /sign-in": beginSignIn,
  "GET /callback": endSignIn,
  "POST /sign-out": signOut,
};

const server = createServer((request, response) => void serve(request, response));
await new Promise((resolve) => server.listen(Number(PORT), resolve));
// Behind a proxy, APP_URL is the address by which browsers reach it.
const origin = APP_URL ?? `http://localhost:${server.address().port}`;
const isSecure = origin.startsWith("https:");
console.log(`Open ${origin}`);

async function serve(request, response) {
  try {
    const url = new URL(`${origin}${request.url}`);
    const route = routes[`${request.method} ${url.pathname}`];
    if (route) await route({ request, response, url });
    else show(response, 404, "<p>There is no such page.</p>");
  } catch (error) {
    console.error(error);
    show(response, 400, `<p>${escaped(sentenceOf(error))}</p><a href="/sign-in">Try again</a>`);
  }
}

/** Shows who is signed in. */
async function home({ request, response }) {
  const user = await userOf(cookieIn(request, "session"));
  if (!user) return show(response, 200, '<a href="/sign-in">Sign in</a>');
  const roles = Array.isArray(user.roles) && user.roles.length > 0 ? user.roles.join(", ") : "none";
  const form = '<form method="post" action="/sign-out"><button>Sign out</button></form>';
  show(response, 200, `<p>Signed in as ${escaped(user.preferred_username)}, roles: ${escaped(roles)}</p>${form}`);
}

/** Leads to Postern. A cookie keeps what the response will be checked with. */
async function beginSignIn({ response }) {
  const checks = { verifier: oidc.randomPKCECodeVerifier(), state: oidc.randomState(), nonce: oidc.randomNonce() };
  setCookie(response, "sign-in", Buffer.from(JSON.stringify(checks)).toString("base64url"), isSecure);
  const to = oidc.buildAuthorizationUrl(client, {
    redirect_uri: `${origin}/callback`,
    scope: "openid profile roles offline_access",
    state: checks.state,
    nonce: checks.nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(checks.verifier),
    code_challenge_method: "S256",
  });
  redirect(response, to.href);
}

/** Takes the code that Postern sent, and begins a session whose name nobody knew before. */
async function endSignIn({ request, response, url }) {
  const kept = cookieIn(request, "sign-in");
  if (!kept) throw new Error("This sign-in began in another browser, or has ended.");
  const { verifier, state, nonce } = JSON.parse(Buffer.from(kept, "base64url").toString());
  const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true };
  const tokens = await oidc.authorizationCodeGrant(client, url, checks);
  const name = randomBytes(32).toString("base64url");
  sessions.set(name, tokens);
  setCookie(response, "sign-in", "", isSecure);
  setCookie(response, "session", name, isSecure);
  redirect(response, "/");
}

/** Signs out here and at Postern. */
async function signOut({ request, response }) {
  const name = cookieIn(request, "session");
  const hint = sessions.get(name)?.id_token;
  sessions.delete(name);
  setCookie(response, "session", "", isSecure);
  if (!hint) return redirect(response, "/");
  const to = oidc.buildEndSessionUrl(client, { id_token_hint: hint, post_logout_redirect_uri: `${origin}/` });
  redirect(response, to.href);
}

/** The user of a session with the roles of this moment; nobody once the sign-in has ended at Postern, whoever ended it. */
async function userOf(session) {
  try {
    const tokens = await tokensOf(session);
    return tokens && (await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims()?.sub ?? ""));
  } catch (error) {
    if (!(error instanceof oidc.WWWAuthenticateChallengeError || isRefused(error, "invalid_grant"))) throw error;
    sessions.delete(session);
    return undefined;
  }
}

/** The tokens of a session, fresh ones in the last minute of the access token. */
async function tokensOf(session) {
  const tokens = sessions.get(session);
  if (!tokens || (tokens.expiresIn() ?? 0) > 60) return tokens;
  const fresh = await oidc.refreshTokenGrant(client, tokens.refresh_token ?? "");
  sessions.set(session, fresh);
  return fresh;
}

const isRefused = (error, code) =>
  (error instanceof oidc.ResponseBodyError || error instanceof oidc.AuthorizationResponseError) && error.error === code;

function discovered() {
  const issuer = new URL(ISSUER);
  // Only a Postern on this very machine is without https.
  const options = issuer.protocol === "http:" ? { execute: [oidc.allowInsecureRequests] } : {};
  return oidc.discovery(issuer, CLIENT_ID, CLIENT_SECRET, oidc.ClientSecretBasic(CLIENT_SECRET), options);
}

function sentenceOf(error) {
  if (isRefused(error, "access_denied")) return "You may not use this application.";
  if (isRefused(error, "invalid_grant")) return "This sign-in has been used, or took too long.";
  return error instanceof Error ? error.message : String(error);
}
