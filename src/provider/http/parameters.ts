import { OauthError } from "./oauth_error.ts";

/** The most bytes of a form: it may bring back a sealed query. */
export const formMaxBytes = 24_576;

/** The most characters of a JWT of ours: what we issue, every endpoint and every hint takes. */
export const jwtMaxLength = 9_000;

/** The most characters of the query of an authorization request, with the longest hint: it comes back in a form, sealed. */
export const queryMaxLength = 3_000 + jwtMaxLength;

const mostParameters = 50;
const longestName = 100;

/** The parameters of a request. One without a value counts as left out (RFC 6749, 3.1). */
export type Parameters = {
  readonly get: (name: string) => string | undefined;
  /** The names of those that are there more than once; none of them has a value. */
  readonly repeated: readonly string[];
};

/** Reads the parameters of a query or of a form; refuses too many, and characters that no text may have. */
export function parametersIn(text: string): Parameters {
  if ((text.match(/&/g)?.length ?? 0) >= mostParameters)
    throw new OauthError("invalid_request", `there are more than ${mostParameters} parameters`);
  const values = new Map<string, string>();
  const repeated = new Set<string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (name.length > longestName || /\0/.test(name + value))
      throw new OauthError("invalid_request", "a parameter has a name that is too long, or a NUL");
    if (values.has(name)) repeated.add(name);
    values.set(name, value);
  }
  return {
    get: (name) => (repeated.has(name) ? undefined : values.get(name) || undefined),
    repeated: [...repeated],
  };
}

/** Reads the parameters of a form; refuses another content type, and any parameter that is there twice. */
export function formIn(headers: { readonly "content-type"?: string | undefined }, body: Uint8Array): Parameters {
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/x-www-form-urlencoded")
    throw new OauthError("invalid_request", "the body must be application/x-www-form-urlencoded");
  const parameters = parametersIn(Buffer.from(body).toString("utf8"));
  const [twice] = parameters.repeated;
  if (twice !== undefined) throw new OauthError("invalid_request", `${shown(twice)} is there twice`);
  return parameters;
}

/** A text of a client as descriptions may hold it: RFC 6749, 5.2 allows neither quotes nor backslashes. */
export const shown = (text: string): string =>
  text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "?").slice(0, longestName);

/** Returns the value of a parameter, or refuses. */
export function required(parameters: Parameters, name: string, longest: number): string {
  const value = bounded(parameters, name, longest);
  if (value === undefined) throw new OauthError("invalid_request", `${name} is missing`);
  return value;
}

/** Returns the value of a parameter that may be left out, or refuses one that is too long. */
export function bounded(parameters: Parameters, name: string, longest: number): string | undefined {
  const value = parameters.get(name);
  if (value !== undefined && value.length > longest)
    throw new OauthError("invalid_request", `${name} is longer than ${longest} characters`);
  return value;
}

/** The words of a scope. */
export const wordsOf = (scope: string): readonly string[] => scope.split(" ").filter((word) => word !== "");
