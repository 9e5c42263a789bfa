import type { JsonObject } from "@bufbuild/protobuf";
import { isReservedClaim } from "../security/reserved_claim.ts";
import { lost, type Note } from "./import_note.ts";
import { isNamed, listOf, type Named, text, textsOf } from "./json.ts";

/** The realm's settings for the claims of its clients: its client scopes by name, and whether roles are all the realm's own. */
export type RealmClaims = { readonly scopes: ReadonlyMap<string, Named>; readonly hasClientRoles: boolean };

/** The claims that an application declares, and notes on those that it cannot. */
type Claims = { readonly json: JsonObject; readonly notes: readonly Note[] };

// Every realm has these scopes; their claims are those of OpenID Connect, or Keycloak's own.
const ownScopes = [
  ...["acr", "address", "basic", "email", "microprofile-jwt", "offline_access", "organization", "phone", "profile"],
  ...["roles", "service_account", "web-origins"],
];

// Keycloak adds these to clients with a service account.
const ofServiceAccounts = ["clientHost", "clientAddress", "client_id", "clientId"];

const mostClaims = 20;
const names = /^[A-Za-z0-9_.:/-]{1,100}$/;

/**
 * Converts the protocol mappers of a Keycloak client, and of its default scopes, to declared claims: those that put an unchanged attribute
 * of the user, or the realm's roles, into a token.
 */
export function claimsOf(client: Named, realm: RealmClaims): Claims {
  const scopes = (list: unknown) => textsOf(list).filter((scope) => !ownScopes.includes(scope));
  const always = scopes(client.defaultClientScopes).flatMap((name) => mappersOf(realm.scopes.get(name) ?? {}));
  const optional = scopes(client.optionalClientScopes).flatMap((name) => mappersOf(realm.scopes.get(name) ?? {}));
  const declared: JsonObject[] = [];
  const notes: Note[] = optional.map((mapper) => lost(`the claim of ${nameOf(mapper)}: it is only for a scope`));
  const taken = new Set<string>();
  for (const mapper of [...mappersOf(client), ...always]) {
    const claim = claimOf(mapper, realm);
    if (claim === undefined) continue;
    const why = typeof claim === "string" ? claim : whyNot(claim, taken, declared.length);
    if (why !== undefined) notes.push(lost(`the claim of ${nameOf(mapper)}: ${why}`));
    else if (typeof claim !== "string") {
      taken.add(claim.name.toLowerCase());
      declared.push({ ...claim, places: [...claim.places] });
    }
  }
  return { json: declared.length > 0 ? { declaredClaims: declared } : {}, notes };
}

type Claim = { readonly name: string; readonly places: readonly string[] } & JsonObject;

function whyNot({ name }: Claim, taken: ReadonlySet<string>, count: number): string | undefined {
  if (isReservedClaim(name)) return "its name is reserved";
  if (!names.test(name)) return "its name has other characters than ASCII letters, digits and _.:/-";
  if (taken.has(name.toLowerCase())) return "another one has its name";
  return count < mostClaims ? undefined : `an application declares at most ${mostClaims}`;
}

/** A mapper as a declared claim, or the reason why it cannot be one; undefined if it adds no claim. */
function claimOf({ protocolMapper, config }: Named, { hasClientRoles }: RealmClaims): Claim | string | undefined {
  const of = isNamed(config) ? config : {};
  const places = placesOf(of);
  const claimed = text(of["claim.name"]);
  if (places.length === 0 || ofServiceAccounts.includes(claimed)) return undefined;
  // A dot stands for a member of an object, unless it has a backslash.
  if (/(?<!\\)\./.test(claimed)) return "its value is inside an object";
  const name = claimed.replaceAll("\\.", ".");
  switch (text(protocolMapper)) {
    case "oidc-usermodel-attribute-mapper":
      return whyNotText(of) ?? { name, places, userMetadata: text(of["user.attribute"]) };
    case "oidc-usermodel-realm-role-mapper":
      return whyNotRoles(of, hasClientRoles) ?? { name, places, roles: {} };
    default:
      return `nothing declares what ${text(protocolMapper)} does`;
  }
}

function whyNotText(of: Named): string | undefined {
  if (text(of.multivalued) === "true" || text(of["aggregate.attrs"]) === "true") return "its value is a list";
  if (!["", "String"].includes(text(of["jsonType.label"]))) return "its value is not a text";
  return names.test(text(of["user.attribute"])) ? undefined : "its attribute is no key of metadata";
}

function whyNotRoles(of: Named, hasClientRoles: boolean): string | undefined {
  if (text(of["usermodel.realmRoleMapping.rolePrefix"])) return "its roles have a prefix";
  if (text(of.multivalued) !== "true") return "its value is not a list";
  return hasClientRoles ? "it has the roles of the realm alone" : undefined;
}

const placesOf = (of: Named): string[] =>
  (
    [
      ["id.token.claim", "CLAIM_PLACE_ID_TOKEN"],
      ["access.token.claim", "CLAIM_PLACE_ACCESS_TOKEN"],
      ["userinfo.token.claim", "CLAIM_PLACE_USERINFO"],
    ] as const
  ).flatMap(([key, place]) => (text(of[key]) === "true" ? [place] : []));

const mappersOf = ({ protocolMappers }: Named): Named[] => listOf(protocolMappers);

const nameOf = ({ name }: Named): string => `the mapper ${JSON.stringify(text(name).slice(0, 100))}`;
