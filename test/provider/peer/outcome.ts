import type { Shown } from "../browser.ts";
import type { Peer } from "./peer.ts";

/** A result of a scene that two providers can have in common: values that are new each time are left out. */
export type Outcome = string | number | boolean | null | readonly Outcome[] | { readonly [name: string]: Outcome };

/** A scene: requests to a provider, and their outcome. */
export type Scene = (peer: Peer) => Promise<Outcome>;

/** Scenes by their names. */
export type Scenes = Readonly<Record<string, Scene>>;

/** The way in which an authorization request ended: at the application with these parameters, or on a page. */
export function ended({ issuer }: Peer, { status, url, text }: Shown): Outcome {
  if (new URL(url).origin === issuer) return { page: pageOf(text), status };
  const { search, hash } = new URL(url);
  const inFragment = hash.length > 1;
  const parameters = new URLSearchParams(inFragment ? hash.slice(1) : search);
  return { status, in: inFragment ? "fragment" : "query", ...namesIn(issuer, Object.fromEntries(parameters)) };
}

const isKept = (name: string): boolean => ["error", "state", "iss", "token_type", "active"].includes(name);

/** The names of parameters in order, with the values of those that are the same everywhere; descriptions are free. */
export function namesIn(issuer: string, parameters: Readonly<Record<string, unknown>>): { [name: string]: Outcome } {
  const entries = Object.entries(parameters).filter(([name]) => name !== "error_description");
  return Object.fromEntries(
    entries
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => [name, isKept(name) ? String(value).replace(issuer, "the issuer") : "there"]),
  );
}

function pageOf(text: string): string {
  if (/name="password"/.test(text)) return "password";
  return /name="action" value="(?:continue|allow)"/.test(text) ? "confirmation" : "error";
}

/** The outcome of a request to an endpoint. */
export type Answered = {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
};

/** The status of an answer, and its error or the names of its fields. */
export const answered = ({ issuer }: Peer, { status, body }: Answered): Outcome => ({
  status,
  ...namesIn(issuer, body),
});
