import { create, fromJson, type JsonObject } from "@bufbuild/protobuf";
import {
  ApiAuthMethodType,
  type ApiConfiguration,
  ApiConfigurationSchema,
  OidcAuthMethodType,
  type OidcConfiguration,
  OidcConfigurationSchema,
} from "../../../gen/postern/v1/application_pb.ts";
import { type NounFolds, touch } from "../../events/fold.ts";
import { historyInFact, inFact } from "../reading/row.ts";
import { applicationInserted } from "./application_row.ts";
import { judged, judgedInFact, versionUnknown } from "./stored_compliance.ts";

const methods: ReadonlyMap<OidcAuthMethodType, ApiAuthMethodType> = new Map([
  [OidcAuthMethodType.BASIC, ApiAuthMethodType.BASIC],
  [OidcAuthMethodType.POST, ApiAuthMethodType.POST],
  [OidcAuthMethodType.PRIVATE_KEY_JWT, ApiAuthMethodType.PRIVATE_KEY_JWT],
]);

/** Ignores unknown values, which a newer node may have written. */
export const apiConfigurationOf = (oidc: Pick<OidcConfiguration, "authMethodType">, api: JsonObject | null) => ({
  ...fromJson(ApiConfigurationSchema, api ?? {}, { ignoreUnknownFields: true }),
  authMethodType: methods.get(oidc.authMethodType) ?? ApiAuthMethodType.BASIC,
});

/** The configuration by which the provider identifies an API application. */
export const oidcOf = ({ authMethodType }: Pick<ApiConfiguration, "authMethodType">): OidcConfiguration => {
  const [method] = [...methods].find(([, api]) => api === authMethodType) ?? [OidcAuthMethodType.BASIC];
  return create(OidcConfigurationSchema, { authMethodType: method });
};

export const keepsApiSecret = ({ authMethodType }: Pick<ApiConfiguration, "authMethodType">): boolean =>
  authMethodType !== ApiAuthMethodType.PRIVATE_KEY_JWT;

// The provider identifies clients by their OIDC configuration, so API applications get one without redirect URIs and grant types.
const asOidc = `jsonb_strip_nulls(jsonb_build_object(
  'authMethodType', replace(f.payload->'api'->>'authMethodType', 'API_AUTH_', 'OIDC_AUTH_')))`;

// The configuration without what API applications have had since they first existed.
const asApi = "nullif((f.payload->'api') - 'authMethodType', '{}')";

/** The resource URIs in the facts, in the form of their table (hrefOf and namesOfHost). */
const urisIn = `select h.href, f.owner, f.stream as app_id, u.uri,
          coalesce(f.payload->'api'->'givenResourceUris' ? u.uri, false) as given,
          array(select array_to_string(h.labels[l:], '.') from generate_subscripts(h.labels, 1) l) as names
        from $facts f cross join lateral jsonb_array_elements_text(coalesce(f.payload->'api'->'resourceUris', '[]')) u (uri)
        cross join lateral (select u.uri || case when u.uri ~ '^https?://[^/?#]+$' then '/' else '' end as href,
          string_to_array(substring(u.uri from '^https?://([^/:?#]+)'), '.') as labels) h`;

const keepSecret = `insert into client_secrets (app_id, hash)
  select i.stream, decode(i.secret->>'hash', 'hex') from $input i where i.secret->>'hash' is not null`;

const apiInserted = applicationInserted(
  ["isDocument", "active"],
  {
    ...inFact("projectId", "name", "clientId"),
    oidc: asOidc,
    api: asApi,
    isApi: "true",
    ...historyInFact,
    ...judgedInFact,
  },
  { columns: ["complianceProblems"], values: ["version"] },
);

/** The folds of facts about API applications: they write the row, the client id and the client secret. */
export const apiApplicationFolds = {
  apiCreated: {
    views: [
      `${apiInserted} from $facts f`,
      `insert into client_ids (client_id, owner, app_id) select f.payload->>'clientId', f.owner, f.stream from $facts f`,
      `insert into resource_uris (href, owner, app_id, uri, given, names) ${urisIn}`,
    ],
    unknownBefore: versionUnknown,
    credentials: [keepSecret],
  },
  apiChanged: {
    views: [
      touch("applications", "app_id", `name = f.payload->>'name', oidc = ${asOidc}, api = ${asApi}, ${judged}`),
      `delete from resource_uris r using $facts f
       where r.app_id = f.stream and not exists (select from (${urisIn}) x where x.app_id = r.app_id and x.href = r.href)`,
      `update resource_uris r set uri = x.uri, given = x.given from (${urisIn}) x where r.app_id = x.app_id and r.href = x.href`,
      `insert into resource_uris (href, owner, app_id, uri, given, names)
       select x.* from (${urisIn}) x
       where not exists (select from resource_uris r where r.app_id = x.app_id and r.href = x.href)`,
    ],
    // A secret is added only where there was none; an authentication method that needs none ends the existing ones.
    credentials: [
      keepSecret,
      `delete from client_secrets s using $facts f
       where s.app_id = f.stream and f.payload->'api'->>'authMethodType' = 'API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT'`,
    ],
  },
} satisfies Pick<NounFolds<"application">, "apiCreated" | "apiChanged">;
