import { create } from "@bufbuild/protobuf";
import {
  ApiAuthMethodType,
  type ApiConfiguration,
  ApiConfigurationSchema,
  OidcAuthMethodType,
  type OidcConfiguration,
} from "../../../gen/postern/v1/application_pb.ts";
import { type NounFolds, touch } from "../../events/fold.ts";

const methods: ReadonlyMap<OidcAuthMethodType, ApiAuthMethodType> = new Map([
  [OidcAuthMethodType.BASIC, ApiAuthMethodType.BASIC],
  [OidcAuthMethodType.POST, ApiAuthMethodType.POST],
  [OidcAuthMethodType.PRIVATE_KEY_JWT, ApiAuthMethodType.PRIVATE_KEY_JWT],
]);

export const apiConfigurationOf = ({ authMethodType }: OidcConfiguration): ApiConfiguration =>
  create(ApiConfigurationSchema, { authMethodType: methods.get(authMethodType) ?? ApiAuthMethodType.BASIC });

export const keepsApiSecret = ({ authMethodType }: Pick<ApiConfiguration, "authMethodType">): boolean =>
  authMethodType !== ApiAuthMethodType.PRIVATE_KEY_JWT;

// The provider identifies clients by their OIDC configuration, so API applications get one without redirect URIs and grant types.
const asOidc = `jsonb_strip_nulls(jsonb_build_object(
  'authMethodType', replace(f.payload->'api'->>'authMethodType', 'API_AUTH_', 'OIDC_AUTH_')))`;

const keepSecret = `insert into client_secrets (app_id, hash)
  select i.stream, decode(i.secret->>'hash', 'hex') from $input i where i.secret->>'hash' is not null`;

/** The folds of facts about API applications: they write the row, the client id and the client secret. */
export const apiApplicationFolds = {
  apiCreated: {
    views: [
      `insert into applications (owner, app_id, project_id, name, client_id, oidc, is_api, version, created, changed)
       select f.owner, f.stream, f.payload->>'projectId', f.payload->>'name', f.payload->>'clientId', ${asOidc}, true,
         f.version, f.time, f.time from $facts f`,
      `insert into client_ids (client_id, owner, app_id) select f.payload->>'clientId', f.owner, f.stream from $facts f`,
    ],
    credentials: [keepSecret],
  },
  apiChanged: {
    views: [touch("applications", "app_id", `name = f.payload->>'name', oidc = ${asOidc}`)],
    // A secret is added only where there was none; an authentication method that needs none ends the existing ones.
    credentials: [
      keepSecret,
      `delete from client_secrets s using $facts f
       where s.app_id = f.stream and f.payload->'api'->>'authMethodType' = 'API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT'`,
    ],
  },
} satisfies Pick<NounFolds<"application">, "apiCreated" | "apiChanged">;
