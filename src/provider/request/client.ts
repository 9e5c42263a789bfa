import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import {
  OidcAuthMethodType,
  type OidcConfiguration,
  OidcConfigurationSchema,
} from "../../../gen/postern/v1/application_pb.ts";

/** An application as the provider knows it. */
export type Client = {
  readonly appId: string;
  readonly clientId: string;
  readonly name: string;
  readonly owner: string;
  readonly projectId: string;
  /** Whether application, project and organization are all active. */
  readonly active: boolean;
  readonly oidc: OidcConfiguration;
  /** The SHA-256 hash of each active client secret, in hexadecimal. */
  readonly secrets: readonly string[];
  readonly keys: readonly ClientKey[];
  /** Whether its client id is the URL of a document that describes it. */
  readonly bringsDocument?: boolean;
};

/** An application's public key, or the URI of its keys. */
export type ClientKey = { readonly jwk: JsonObject | null; readonly jwksUri: string | null };

export type ClientRow = Omit<Client, "oidc"> & { readonly oidc: JsonObject };

export const clientOf = ({ oidc, ...row }: ClientRow): Client => ({
  ...row,
  oidc: fromJson(OidcConfigurationSchema, oidc, { ignoreUnknownFields: true }),
});

/** The part of a question that reads the client `asked.client_id` at the time `asked.now`, as one json column. */
export const clientColumn = `json_build_object(
      'appId', a.app_id, 'clientId', a.client_id, 'name', a.name, 'owner', a.owner, 'projectId', a.project_id, 'oidc', a.oidc,
      'bringsDocument', a.is_document,
      'active', a.active and p.active and h.active and not h.deleted,
      'secrets', coalesce((select json_agg(encode(s.hash, 'hex')) from client_secrets s
        where s.app_id = a.app_id and (s.expiration_date is null or s.expiration_date > asked.now)), '[]'),
      'keys', coalesce((select json_agg(json_build_object('jwk', k.jwk, 'jwksUri', k.jwks_uri))
        from application_keys k where k.app_id = a.app_id), '[]')) as client`;

/** The tables of a client's question. */
// Only by the application's id: with its organization as well, the planner would read all applications of the organization.
export const clientTables = `client_ids c on c.client_id = asked.client_id
    join applications a on a.app_id = c.app_id
    join projects p on p.project_id = a.project_id join organizations h on h.organization_id = a.owner`;

/** Whether a client has no secret or key to prove its identity. */
export const isPublic = ({ oidc }: Pick<Client, "oidc">): boolean => oidc.authMethodType === OidcAuthMethodType.NONE;
