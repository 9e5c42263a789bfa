import { MalformedRequest } from "./oauth_error.ts";

/** The maximum size of a form, which may return a sealed query. */
export const formMaxBytes = 24_576;

/** The maximum length of our JWTs. Every endpoint and every hint accepts what we issue. */
export const jwtMaxLength = 9_000;

/** The maximum length of an authorization request's query, including the longest hint; forms return it sealed. */
export const queryMaxLength = 3_000 + jwtMaxLength;

const mostParameters = 50;
const longestName = 100;

/** The parameters of a request. One without a value counts as absent (RFC 6749, 3.1). */
export type Parameters = {
  readonly get: (name: string) => string | undefined;
  /** All values of a parameter that may be there more than once. */
  readonly all: (name: string) => readonly string[];
  /** The names of repeated parameters; none of them has a value. */
  readonly repeated: readonly string[];
  /** The names of all parameters, each once. */
  readonly names: readonly string[];
};

/** Reads the parameters of a query or form; fails if there are too many, or if they contain characters that no text may have. */
export function parametersIn(text: string): Parameters {
  if ((text.match(/&/g)?.length ?? 0) >= mostParameters)
    throw new MalformedRequest({ key: "parameters_many", params: { count: String(mostParameters) } });
  const values = new Map<string, string>();
  const repeated = new Set<string>();
  const given = new URLSearchParams(text);
  for (const [name, value] of given) {
    if (name.length > longestName || /\0/.test(name + value)) throw new MalformedRequest({ key: "parameter_odd" });
    if (values.has(name)) repeated.add(name);
    values.set(name, value);
  }
  return {
    get: (name) => (repeated.has(name) ? undefined : values.get(name) || undefined),
    all: (name) => given.getAll(name).filter((value) => value !== ""),
    repeated: [...repeated],
    names: [...values.keys()],
  };
}

/** Reads the parameters of a form; fails for another content type or a repeated parameter, unless it may be repeated. */
export function formIn(
  headers: { readonly "content-type"?: string | undefined },
  body: Uint8Array,
  mayRepeat: readonly string[] = [],
): Parameters {
  refuseOtherType(headers);
  const parameters = parametersIn(Buffer.from(body).toString("utf8"));
  const twice = parameters.repeated.find((name) => !mayRepeat.includes(name));
  if (twice !== undefined) throw repeated(twice);
  return parameters;
}

const formType = "application/x-www-form-urlencoded";

/** Refuses a body that is no form. */
export function refuseOtherType(headers: { readonly "content-type"?: string | undefined }): void {
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== formType) throw new MalformedRequest({ key: "body_type", params: { type: formType } });
}

export const repeated = (name: string) =>
  new MalformedRequest({ key: "parameter_repeated", params: { name: shown(name) } });

export const missing = (name: string) => new MalformedRequest({ key: "parameter_missing", params: { name } });

export const tooLong = (name: string, longest: number) =>
  new MalformedRequest({ key: "parameter_long", params: { name, count: String(longest) } });

/** A client's text as error descriptions may contain it: RFC 6749, 5.2 allows neither quotes nor backslashes. */
export const shown = (text: string): string =>
  text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "?").slice(0, longestName);

/** The value of a parameter; fails if it is missing or too long. */
export function required(parameters: Parameters, name: string, longest: number): string {
  const value = bounded(parameters, name, longest);
  if (value === undefined) throw missing(name);
  return value;
}

/** The value of an optional parameter; fails if it is too long. */
export function bounded(parameters: Parameters, name: string, longest: number): string | undefined {
  const value = parameters.get(name);
  if (value !== undefined && value.length > longest) throw tooLong(name, longest);
  return value;
}

/** The individual scopes in a scope parameter. */
export const wordsOf = (scope: string): readonly string[] => scope.split(" ").filter((word) => word !== "");
