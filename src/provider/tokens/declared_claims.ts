import type { ClaimPlace, DeclaredClaim } from "../../../gen/postern/v1/application_pb.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { ofOrganization, ofUser } from "../../services/metadata/metadata.ts";
import type { Client } from "../request/client.ts";
import { isForeign } from "../request/own_client.ts";
import type { Claims } from "./claims_size.ts";
import type { SignOn } from "./subject.ts";

/** The declared claims of one place: the ID token, the access token or userinfo. */
export const declaredIn = ({ declared = [] }: Pick<SignOn, "declared">, place: ClaimPlace): Claims =>
  Object.fromEntries(declared.filter(({ places }) => places.includes(place)).map(({ name, value }) => [name, value]));

/** The parts of an application that decide about its declared claims. */
type Declaring = Pick<Client, "clientId" | "owner" | "oidc">;

/**
 * Makes the function that adds to a sign-in the values of the claims that its application declares. Metadata is read only if a claim is
 * taken from it.
 */
export function declaredRead(sql: Sql) {
  const read = metadataRead(sql);
  return async (client: Declaring, signOn: SignOn): Promise<SignOn> => {
    const { declaredClaims } = client.oidc;
    if (declaredClaims.length === 0) return signOn;
    const [user, organization] = [
      keysIn(declaredClaims, "userMetadata"),
      keysIn(declaredClaims, "organizationMetadata"),
    ];
    const isRead = user.length + organization.length > 0;
    const found = isRead
      ? await read({
          user_id: signOn.userId,
          user_keys: user,
          of_user: !isForeign(client, signOn.userOwner),
          organization_id: signOn.organizationId,
          organization_keys: organization,
          of_organization: !isForeign(client, signOn.organizationId),
        })
      : undefined;
    const declared = declaredClaims.flatMap(({ name, source, places }) => {
      const value = declaredValue(source, {
        signOn,
        user: mapOf(found?.user),
        organization: mapOf(found?.organization),
      });
      return value === undefined ? [] : [{ name, value, places }];
    });
    return { ...signOn, declared };
  };
}

const keysIn = (claims: readonly DeclaredClaim[], from: "userMetadata" | "organizationMetadata"): readonly string[] =>
  claims.flatMap(({ source }) => (source.case === from ? [source.value] : []));

type Texts = ReadonlyMap<string, string>;

const mapOf = (pairs: readonly Pair[] | undefined): Texts => new Map(pairs);

type Values = { readonly signOn: SignOn; readonly user: Texts; readonly organization: Texts };

function declaredValue(source: DeclaredClaim["source"], { signOn, user, organization }: Values): unknown {
  switch (source.case) {
    case "userMetadata":
      return user.get(source.value);
    case "organizationMetadata":
      return organization.get(source.value);
    case "roles":
      return signOn.roles;
    case "role":
      return signOn.roles.includes(source.value);
    case undefined:
      return undefined;
  }
}

type Pair = readonly [key: string, value: string];

type Key = {
  readonly user_id: string;
  readonly organization_id: string;
  readonly user_keys: readonly string[];
  readonly organization_keys: readonly string[];
  /** Whether the application belongs to the user's organization, the one signed in for; otherwise only shared entries count. */
  readonly of_user: boolean;
  readonly of_organization: boolean;
};

const entriesOf = ({ table, id }: typeof ofUser, noun: "user" | "organization"): string =>
  `coalesce((select json_agg(json_build_array(m.key, m.value)) from ${table} m
      where m.${id} = asked.${noun}_id and m.key = any(asked.${noun}_keys) and (m.shared or asked.of_${noun})), '[]') as "${noun}"`;

/** Reads the entries of a user and of an organization under some keys, those that an application may see. */
const metadataRead = (sql: Sql) =>
  loadOne<Key, { user: readonly Pair[]; organization: readonly Pair[] }>(sql, {
    asked: `user_id text, user_keys text[], of_user boolean, organization_id text, organization_keys text[],
    of_organization boolean`,
    select: `select n, ${entriesOf(ofUser, "user")},
    ${entriesOf(ofOrganization, "organization")}
    from asked`,
  });
