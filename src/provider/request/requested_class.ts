import { authenticationClasses } from "../../services/callers/authentication_class.ts";
import { OauthError } from "../http/oauth_error.ts";
import { bounded, type Parameters, wordsOf } from "../http/parameters.ts";

const longest = 2_000;

/**
 * Whether a request asks for more than one factor: with `acr_values`, which count as required if they name one of our classes (RFC 9470,
 * 5), or with the ID token claim `acr` in the `claims` parameter. An essential `acr` that names only other classes cannot be satisfied
 * (OpenID Connect Core 1.0, 5.5.1.1).
 */
export function wantsFactor(parameters: Parameters): boolean {
  const preferred = wordsOf(bounded(parameters, "acr_values", longest) ?? "");
  const claim = claimIn(parameters);
  if (claim.isEssential && claim.values.length > 0 && !claim.values.some(isKnown))
    throw new OauthError("unmet_authentication_requirements", "claims asks for an acr that there is not");
  return needsMore(preferred) || needsMore(claim.values);
}

const [single] = authenticationClasses;
const classes: readonly string[] = authenticationClasses;

const isKnown = (value: string): boolean => classes.includes(value);

/** Whether, of our classes, only the stronger one is acceptable. */
const needsMore = (values: readonly string[]): boolean => values.some(isKnown) && !values.includes(single);

type ClassClaim = { readonly isEssential: boolean; readonly values: readonly string[] };

/** The ID token claim `acr` that a request asks for. */
function claimIn(parameters: Parameters): ClassClaim {
  const text = bounded(parameters, "claims", longest);
  const claim = text === undefined ? undefined : memberOf(memberOf(objectIn(text), "id_token"), "acr");
  const values = [memberOf(claim, "value"), memberOf(claim, "values")].flat();
  return {
    isEssential: memberOf(claim, "essential") === true,
    values: values.filter((value): value is string => typeof value === "string"),
  };
}

function objectIn(text: string): object {
  const value = parsed(text);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new OauthError("invalid_request", "claims is no JSON object");
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
