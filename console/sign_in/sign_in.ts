import { signal } from "@preact/signals";
import { outdated } from "../calls/connection.ts";
import { Refusal } from "../calls/refusal.ts";

const clientId = "postern console";
const { issuer = "", version = "" } = document.documentElement.dataset;
const redirectUri = `${issuer}/console/`;

/** The state of this page's sign-in. */
export type Standing =
  | { readonly is: "starting" | "ready" | "ended" }
  /** Nobody can sign in: the server has no address that browsers may send secrets to. */
  | { readonly is: "without issuer" }
  | { readonly is: "refused"; readonly error: string }
  /** The server does not respond, or not now. */
  | { readonly is: "away"; readonly refusal: Refusal };

export const standing = signal<Standing>({ is: "starting" });

/** Kept only in memory, and no longer than its ten minutes. */
export const token = signal<string | undefined>(undefined);

const tabs = new BroadcastChannel("postern console");
/** The account of this page, once known. Another account of the browser never continues with it. */
let account: { readonly id: string; readonly hint: string } | undefined;

export function belongTo(given: {
  readonly id: string;
  readonly username: string;
  readonly organizationId: string;
}): void {
  account = { id: given.id, hint: `${given.username}@${given.organizationId}` };
}

let touched = Promise.withResolvers<void>();
for (const event of ["pointerdown", "keydown"]) addEventListener(event, () => touched.resolve());

/** Waits until somebody uses the page: an unused page must not keep a session alive. */
export const used = (): Promise<void> => touched.promise;

let ready = Promise.withResolvers<void>();
let renewal: Promise<void> | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Signs in, going to the sign-in page if the browser has no session; the page is then left. */
export async function begin(): Promise<void> {
  standing.value = { is: "starting" };
  await arrive().catch((error: unknown) => {
    if (!(error instanceof Refusal)) throw error;
    standing.value = { is: "away", refusal: error };
  });
}

async function arrive(): Promise<void> {
  if (!issuer) {
    standing.value = { is: "without issuer" };
    return;
  }
  // Codes and cookies belong to the issuer's address.
  if (issuer !== location.origin) return location.replace(`${issuer}${location.pathname}${location.search}`);
  tabs.onmessage = () => void lookAgain();
  const here = new URL(location.href);
  if (here.searchParams.has("state")) await comeBack(here);
  else if (await silently()) isReady();
  else {
    tabs.postMessage("signed out");
    await goToSignIn();
  }
}

/**
 * Gets another token, unless the refused one has already been replaced. If the session has ended, waits until somebody has signed in again;
 * if no server responds, it fails.
 */
export async function renew(refused = token.value): Promise<void> {
  if (token.value !== undefined && token.value !== refused) return;
  renewal ??= renewed().finally(() => {
    renewal = undefined;
  });
  await renewal;
}

async function renewed(): Promise<void> {
  if (await silently()) return isReady();
  token.value = undefined;
  standing.value = { is: "ended" };
  ready = Promise.withResolvers();
  await ready.promise;
}

/** Another tab reports a sign-in or sign-out. If no server responds now, the next call finds out. */
async function lookAgain(): Promise<void> {
  if (standing.value.is === "ready") await renew().catch(unlessAway);
  else if (standing.value.is === "ended" && (await silently().catch(unlessAway))) isReady();
}

function unlessAway(error: unknown): undefined {
  if (!(error instanceof Refusal)) throw error;
}

function isReady(): void {
  standing.value = { is: "ready" };
  ready.resolve();
}

/** Ends the session; the provider's page asks for confirmation, and leads back here. */
export function signOut(userId: string): void {
  token.value = undefined;
  const about = { client_id: clientId, post_logout_redirect_uri: redirectUri, logout_hint: userId };
  const query = new URLSearchParams(about);
  location.assign(`/oauth/end-session?${query}`);
}

/** Goes to the sign-in page, and returns to the current address. */
export async function goToSignIn(more: Readonly<Record<string, string>> = {}): Promise<void> {
  const { pathname, search } = location;
  const { state, query } = await newRequest({ ...hint(), ...more });
  const target = new URLSearchParams(search).has("state") ? "/console/" : pathname + search;
  sessionStorage.setItem(keyOf(state), JSON.stringify({ verifier: query.verifier, target }));
  location.replace(`/oauth/authorize?${query.params}`);
}

const hint = (): Readonly<Record<string, string>> => (account ? { login_hint: account.hint } : {});

const keyOf = (state: string): string => `postern console ${state}`;

async function newRequest(more: Readonly<Record<string, string>>) {
  const [state, verifier] = [random(), random()];
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  const params = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "openid",
    state,
    code_challenge: base64url(new Uint8Array(hash)),
    code_challenge_method: "S256",
    ...more,
  });
  return { state, query: { params, verifier } };
}

const random = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)));

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, (one) => ({ "+": "-", "/": "_" })[one] ?? "");
}

/**
 * Asks without showing a page: a browser with a session gets a code in the address of the response. No response says nothing about the
 * session.
 */
async function silently(): Promise<boolean> {
  const { state, query } = await newRequest({ prompt: "none", ...hint() });
  const response = await answerOf(`/oauth/authorize?${query.params}`, { redirect: "follow" });
  const answer = new URL(response.url).searchParams;
  const code = answer.get("code");
  if (!code || answer.get("state") !== state || answer.get("iss") !== issuer) return false;
  // The response is the current version of this page.
  const now = /data-version="([^"]*)"/.exec(await response.text())?.[1];
  if (now !== undefined && now !== version) outdated.value = true;
  return redeem(code, query.verifier);
}

async function comeBack(here: URL): Promise<void> {
  const answer = here.searchParams;
  const kept = sessionStorage.getItem(keyOf(answer.get("state") ?? ""));
  sessionStorage.removeItem(keyOf(answer.get("state") ?? ""));
  const { verifier, target } = JSON.parse(kept ?? "{}") as { verifier?: string; target?: string };
  history.replaceState(null, "", target ?? "/console/");
  const error = answer.get("error");
  const code = answer.get("code");
  if (error) standing.value = { is: "refused", error: answer.get("error_description") ?? error };
  // A response that nobody here asked for.
  else if (!verifier || !code || answer.get("iss") !== issuer) await goToSignIn();
  else if (await redeem(code, verifier)) {
    isReady();
    tabs.postMessage("signed in");
  } else standing.value = { is: "refused", error: "" };
}

async function redeem(code: string, verifier: string): Promise<boolean> {
  const grant = { grant_type: "authorization_code", code, code_verifier: verifier };
  const body = new URLSearchParams({ ...grant, client_id: clientId, redirect_uri: redirectUri });
  const response = await answerOf("/oauth/token", { method: "POST", body });
  if (!response.ok) return false;
  const given = (await response.json()) as { access_token: string; expires_in: number };
  if (account && (await ownerOf(given.access_token)) !== account.id) {
    location.replace("/console/");
    return new Promise(() => {});
  }
  token.value = given.access_token;
  touched = Promise.withResolvers();
  clearTimeout(timer);
  timer = setTimeout(
    () =>
      void used()
        .then(() => renew())
        .catch(unlessAway),
    Math.max(given.expires_in - 60, 30) * 1000,
  );
  return true;
}

/** A response that a server was able to give: it was neither overloaded, nor away, nor asked too often. */
async function answerOf(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, cache: "no-store" }).catch(() => {
    throw new Refusal(0);
  });
  if (response.status !== 429 && response.status < 500) return response;
  throw new Refusal(response.status, { retryAfter: response.headers.get("retry-after") });
}

/** The owner of a token, looked up before anything else is done with it. */
async function ownerOf(accessToken: string): Promise<string | undefined> {
  const headers = { authorization: `Bearer ${accessToken}`, "content-type": "application/json" };
  const response = await answerOf("/postern.v1.AccountService/GetMe", { method: "POST", headers, body: "{}" });
  const answer = (await response.json().catch(() => undefined)) as { user?: { id?: string } } | undefined;
  return answer?.user?.id;
}
