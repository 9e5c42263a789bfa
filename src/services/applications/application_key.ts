import { create, fromJson, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AddApplicationKeyRequest,
  AddApplicationKeyRequestSchema,
  type ApplicationKey,
  type ApplicationService,
  type JsonWebKey,
  JsonWebKeySchema,
} from "../../../gen/postern/v1/application_pb.ts";
import { type Call, type Deps, organizationOf } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { detailsAfter, factOf, next, type Versioned } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { messageRule } from "../../rules.ts";
import { canonicalJwk, type JwkFault, jwkFaults } from "../../security/jwk.ts";
import { isOutgoingUri } from "../writing/outgoing_uri.ts";
import { ofApplication } from "./application.ts";
import { refuseFirstParty } from "./first_party.ts";

type Keys = Pick<
  ServiceImpl<typeof ApplicationService>,
  "addApplicationKey" | "listApplicationKeys" | "removeApplicationKey"
>;

/** The public keys of applications, and the URIs they are fetched from. */
export const applicationKeys = ({ log, sql, clock, ids }: Deps) => {
  const keysOf = keysRead(sql);

  return {
    async addApplicationKey(request, call) {
      const row = await applicationOf(request, call);
      const added = keyFrom(request);
      if (row.isDocument) throw refuse.because("APPLICATION_NOT_OIDC", { params: { id: row.id } });
      refuseFirstParty(row.oidc, call);
      refuseUnfit(row.keys, added);
      const keyId = ids();
      const at = next(row, clock());
      const fact = factOf("application", at, { case: "keyAdded", value: { keyId, source: added } });
      const kid = added.case === "publicKey" ? { kid: added.value.kid ?? "" } : {};
      return log.append(call, [fact], { keyId, details: detailsAfter(at), ...kid });
    },

    async listApplicationKeys(named, call) {
      const { keys } = await applicationOf(named, call);
      return { keys: keys.map(applicationKey) };
    },

    async removeApplicationKey({ keyId, ...named }, call) {
      const row = await applicationOf(named, call);
      if (!row.keys.some(({ id }) => id === keyId)) throw refuse.notFound("application_key", keyId);
      const at = next(row, clock());
      const removed = factOf("application", at, { case: "keyRemoved", value: { keyId } });
      return log.append(call, [removed], { details: detailsAfter(at) });
    },
  } satisfies Keys;

  async function applicationOf({ projectId, appId }: Named, call: Call): Promise<Row> {
    const row = await keysOf({ owner: organizationOf(call), project: projectId, app: appId }, call.signal);
    if (!row) throw refuse.notFound("project", projectId);
    if (row.id === null) throw refuse.notFound("application", appId);
    return row;
  }
};

type Named = { readonly projectId: string; readonly appId: string };
type Source = Pick<AddApplicationKeyRequest, "publicKey" | "jwksUri">;
type Added = Exclude<ApplicationKey["source"], { case: undefined }>;

export const applicationKeyRules = [
  messageRule(AddApplicationKeyRequestSchema, sourceViolations, ["publicKey", "jwksUri"]),
];

function sourceViolations({ publicKey, jwksUri }: Source): Violation[] {
  if (publicKey && jwksUri !== undefined)
    return [{ field: "jwksUri", text: "FIELD_COMBINED", params: { other: "publicKey" }, reason: "MUTUALLY_EXCLUSIVE" }];
  if (publicKey) return publicKeyViolations(publicKey);
  if (jwksUri === undefined)
    return [{ field: "publicKey", text: "FIELD_OR", params: { other: "jwksUri" }, reason: "REQUIRED" }];
  return isOutgoingUri(jwksUri) ? [] : [{ field: "jwksUri", text: "KEY_SET_URI", reason: "JWKS_URI_INVALID" }];
}

/** The problems of the public key in a request. */
export const publicKeyViolations = (key: JsonWebKey): Violation[] => jwkFaults(membersOf(key)).map(keyViolation);

const keyViolation = ({ member, ...fault }: JwkFault): Violation => ({
  field: member ? `publicKey.${member}` : "publicKey",
  ...fault,
  reason: "JWK_INVALID",
});

function membersOf({ kty, kid, alg, n, e, crv, x, y }: JsonWebKey) {
  const optional = Object.entries({ kid, alg, n, e, crv, x, y }).filter(([, value]) => value !== undefined);
  return { kty, ...Object.fromEntries(optional) };
}

const keyFrom = ({ publicKey, jwksUri = "" }: Source): Added =>
  publicKey ? { case: "publicKey", value: storedKey(publicKey) } : { case: "jwksUri", value: jwksUri };

/** A public key as it is stored. */
export function storedKey(key: MessageInitShape<typeof JsonWebKeySchema>): JsonWebKey {
  const publicKey = create(JsonWebKeySchema, key);
  const { alg, use } = publicKey;
  const kept = { ...(alg === undefined ? {} : { alg }), ...(use === undefined ? {} : { use }), keyOps: ["verify"] };
  return create(JsonWebKeySchema, { ...canonicalJwk(membersOf(publicKey)), ...kept });
}

const mostKeys = 20;

function refuseUnfit(keys: readonly KeyRow[], added: Added): void {
  const isMixed = added.case === "jwksUri" ? keys.length > 0 : keys.some(({ jwksUri }) => jwksUri !== null);
  if (isMixed) throw refuse.because("APPLICATION_KEYS_MIXED");
  const kid = added.case === "publicKey" ? added.value.kid : undefined;
  const same = keys.find(({ jwk }) => jwk?.kid === kid);
  if (same) throw keyExists(kid ?? "", same.id);
  if (keys.length >= mostKeys) throw refuse.because("APPLICATION_KEY_LIMIT", { params: { limit: String(mostKeys) } });
}

function keyExists(kid: string, keyId: string) {
  const resource = { noun: "application_key", id: keyId };
  return refuse.because("APPLICATION_KEY_EXISTS", { params: { name: kid, keyId }, resource });
}

type KeyRow = {
  readonly id: string;
  readonly created: string;
  readonly jwk: JsonObject | null;
  readonly jwksUri: string | null;
};

type Row = Versioned & { readonly oidc: JsonObject; readonly isDocument: boolean; readonly keys: readonly KeyRow[] };
type Absent = { readonly id: null };

const applicationKey = ({ id, created, jwk, jwksUri }: KeyRow) => ({
  id,
  creationDate: timestampFromDate(new Date(created)),
  source: jwk === null ? ({ case: "jwksUri", value: jwksUri ?? "" } as const) : publicKeyOf(jwk),
});

// Ignores unknown members, which a newer node may have written.
const publicKeyOf = (jwk: JsonObject) =>
  ({ case: "publicKey", value: fromJson(JsonWebKeySchema, jwk, { ignoreUnknownFields: true }) }) as const;

/** Reads an application with its keys, the oldest first. */
const keysRead = (sql: Sql) =>
  loadOne<{ owner: string; project: string; app: string }, Row | Absent>(sql, {
    asked: "owner text, project text, app text",
    select: `select n, a.app_id as id, a.owner, a.oidc, a.is_document as "isDocument", a.version, a.created, a.changed, coalesce((
               select jsonb_agg(jsonb_build_object('id', k.key_id, 'created', k.created, 'jwk', k.jwk, 'jwksUri', k.jwks_uri)
                 order by k.version)
               from application_keys k where k.app_id = a.app_id), '[]') as keys ${ofApplication}`,
  });
