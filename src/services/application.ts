import { create, fromJson, type JsonObject, type Message } from "@bufbuild/protobuf";
import { type Duration, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type ApplicationService,
  type CreateOidcApplicationRequest,
  CreateOidcApplicationRequestSchema,
  ListApplicationsRequestSchema,
  OidcAuthMethodType,
  type OidcConfiguration,
  OidcConfigurationSchema,
  OidcGrantType,
  OidcResponseType,
} from "../../gen/postern/v1/application_pb.ts";
import { type Call, type Deps, keys, organizationOf } from "../deps.ts";
import { messageRule, refuse, type Violation } from "../errors.ts";
import { details, detailsAfter, factOf, first, next } from "../events/fact.ts";
import { type NounFolds, touch } from "../events/fold.ts";
import { loadOne } from "../events/load.ts";
import { errorText } from "../messages/catalogue.ts";
import type { Sql } from "../postgres/connect.ts";
import { hashToken, newToken } from "../security/token.ts";
import { complianceOf, isDeviceOnly } from "./compliance.ts";
import { takenId } from "./new_user.ts";
import { cut, type Page, pageOf, pageRule } from "./page.ts";
import { originFault, originOf } from "./web_origin.ts";

/** The applications of projects. */
export const applicationService = ({ log, sql, clock, ids }: Deps) => {
  const projectForName = projectForNameRead(sql);
  const applicationOf = applicationRead(sql);

  return {
    async createOidcApplication(request, call) {
      const { projectId, name } = request;
      const oidc = configurationOf(request);
      const owner = organizationOf(call);
      const asked = { owner, project: projectId, name, client_id: request.clientId ?? null };
      refuseTaken(request, await projectForName(asked, call.signal));
      const compliance = complianceOf(oidc, languageOf(call));
      if (request.validateOnly) return log.append(call, [], compliance);
      const at = first(owner, ids(), clock());
      const clientId = request.clientId ?? ids();
      const { secret, ...shown } = secretFor(request, oidc);
      const fact = { case: "oidcCreated", value: { projectId, name, clientId, oidc } } as const;
      const answer = { appId: at.stream, details: detailsAfter(at), clientId, ...shown, ...compliance };
      return log.append(call, [factOf("application", at, fact, secret)], answer);
    },

    async getApplication(request, call) {
      const row = found(await applicationOf(keyOf(request, call), call.signal), request);
      return { application: application(row, call) };
    },

    async listApplications(request, call) {
      const page = pageOf(request, 1);
      const rows = await applicationsByName(sql, { owner: organizationOf(call), ...request }, page);
      if (rows.length === 0) throw refuse.notFound("project", request.projectId);
      const { rows: answered, nextPageToken } = cut(rows.filter(isThere), page, ({ name }) => [name]);
      return { applications: answered.map((row) => application(row, call)), nextPageToken };
    },

    async rotateClientSecret(request, call) {
      const row = found(await applicationOf(keyOf(request, call), call.signal), request);
      if (!keepsSecret(configurationIn(row))) throw refuse.because("CLIENT_SECRET_MISSING");
      const at = next(row, clock());
      const previousSecretExpirationDate = timestampFromDate(after(at.time, request.overlap));
      const { secret, clientSecret } = newSecret();
      const fact = { case: "clientSecretRotated", value: { previousSecretExpirationDate } } as const;
      const answer = { clientSecret, details: detailsAfter(at), previousSecretExpirationDate };
      return log.append(call, [factOf("application", at, fact, secret)], answer);
    },

    async deleteApplication(request, call) {
      const row = found(await applicationOf(keyOf(request, call), call.signal), request);
      const at = next(row, clock());
      const deleted = factOf("application", at, { case: "deleted", value: {} });
      return log.append(call, [deleted], { details: detailsAfter(at) });
    },
  } satisfies ServiceImpl<typeof ApplicationService>;
};

const replaced = `(i.payload->>'previousSecretExpirationDate')::timestamptz`;

/** The folds of facts about an application: they write its row, its client id and its client secrets. */
export const applicationFolds = {
  oidcCreated: {
    views: [
      `insert into applications (owner, app_id, project_id, name, client_id, oidc, version, created, changed)
       select f.owner, f.stream, f.payload->>'projectId', f.payload->>'name', f.payload->>'clientId', f.payload->'oidc',
         f.version, f.time, f.time from $facts f`,
      `insert into client_ids (client_id, owner, app_id) select f.payload->>'clientId', f.owner, f.stream from $facts f`,
    ],
    credentials: [
      `insert into client_secrets (app_id, hash)
       select i.stream, decode(i.secret->>'hash', 'hex') from $input i where i.secret->>'hash' is not null`,
    ],
  },
  clientSecretRotated: {
    views: [touch("applications", "app_id")],
    credentials: [
      `delete from client_secrets s using $input i
       where s.app_id = i.stream and (s.expiration_date is not null or ${replaced} <= i.time)`,
      `update client_secrets s set expiration_date = ${replaced} from $input i
       where s.app_id = i.stream and s.expiration_date is null and ${replaced} > i.time`,
      `insert into client_secrets (app_id, hash) select i.stream, decode(i.secret->>'hash', 'hex') from $input i`,
    ],
  },
  deleted: {
    views: [
      `delete from applications a using $facts f where a.owner = f.owner and a.app_id = f.stream`,
      `delete from client_ids c using $facts f where c.owner = f.owner and c.app_id = f.stream`,
    ],
    credentials: [`delete from client_secrets s using $facts f where s.app_id = f.stream`],
  },
} satisfies NounFolds<"application">;

/** Completes the configuration of a request by the default flow. */
export function configurationOf(request: CreateOidcApplicationRequest): OidcConfiguration {
  const flow = flowOf(request);
  const { clockSkew } = request;
  return create(OidcConfigurationSchema, {
    ...flow,
    redirectUris: request.redirectUris,
    appType: request.appType,
    authMethodType: request.authMethodType,
    postLogoutRedirectUris: request.postLogoutRedirectUris,
    version: request.version,
    devMode: request.devMode,
    accessTokenType: request.accessTokenType,
    accessTokenRoleAssertion: request.accessTokenRoleAssertion,
    idTokenRoleAssertion: request.idTokenRoleAssertion,
    idTokenUserinfoAssertion: request.idTokenUserinfoAssertion,
    additionalOrigins: [...new Set(request.additionalOrigins.map(originOf))],
    skipNativeAppSuccessPage: request.skipNativeAppSuccessPage,
    ...(clockSkew ? { clockSkew } : {}),
  } satisfies Omit<OidcConfiguration, keyof Message>);
}

type Flow = Pick<OidcConfiguration, "responseTypes" | "grantTypes">;

/** Cross-field rules of requests about applications. */
export const applicationRules = [
  messageRule(CreateOidcApplicationRequestSchema, (request) => flowViolations(flowOf(request)), [
    "responseTypes",
    "grantTypes",
  ]),
  messageRule(CreateOidcApplicationRequestSchema, apartViolations),
  messageRule(CreateOidcApplicationRequestSchema, hashViolations, ["authMethodType"]),
  pageRule(ListApplicationsRequestSchema, 1),
];

const { AUTHORIZATION_CODE, IMPLICIT } = OidcGrantType;
const { CODE } = OidcResponseType;

// RFC 7591, 2: a client that names no response type means the code flow, and each response type has its grant type.
function flowOf({ responseTypes, grantTypes }: Flow): Flow {
  if (responseTypes.length === 0 && grantTypes.length === 0)
    return { responseTypes: [CODE], grantTypes: [AUTHORIZATION_CODE] };
  if (responseTypes.length === 0)
    return { responseTypes: grantTypes.includes(AUTHORIZATION_CODE) ? [CODE] : [], grantTypes };
  if (grantTypes.length > 0) return { responseTypes, grantTypes };
  const needed = new Set(responseTypes.map(grantTypeOf));
  return { responseTypes, grantTypes: [AUTHORIZATION_CODE, IMPLICIT].filter((type) => needed.has(type)) };
}

const grantTypeOf = (type: OidcResponseType) => (type === CODE ? AUTHORIZATION_CODE : IMPLICIT);

function flowViolations({ responseTypes, grantTypes }: Flow): Violation[] {
  // Other servers store CODE for applications of the device flow, which never use the authorization endpoint.
  const isIdle = (type: OidcResponseType) => type === CODE && isDeviceOnly({ grantTypes });
  const uncovered = responseTypes.flatMap((type, index) => {
    const needed = grantTypeOf(type);
    return grantTypes.includes(needed) || isIdle(type)
      ? []
      : [flowViolation(`responseTypes[${index}]`, `grant type ${grantName[needed]}`)];
  });
  const implicit = responseTypes.length === 0 ? grantTypes.indexOf(IMPLICIT) : -1;
  return implicit < 0
    ? uncovered
    : [flowViolation(`grantTypes[${implicit}]`, "response type ID_TOKEN or ID_TOKEN_TOKEN")];
}

const grantName = { [AUTHORIZATION_CODE]: "AUTHORIZATION_CODE", [IMPLICIT]: "IMPLICIT" } as const;

function flowViolation(field: string, needs: string): Violation {
  return { field, description: `needs the ${needs}`, reason: "FLOW_INCOMPLETE" };
}

function apartViolations(request: CreateOidcApplicationRequest): Violation[] {
  return [...skewViolations(request), ...originViolations(request)];
}

function hashViolations(request: CreateOidcApplicationRequest): Violation[] {
  if (request.clientSecretHash === undefined || keepsSecret(request)) return [];
  return [{ field: "clientSecretHash", description: errorText("SECRET_NOT_KEPT"), reason: "SECRET_NOT_KEPT" }];
}

const longestSeconds = 315_576_000_000n;

function skewViolations({ clockSkew }: CreateOidcApplicationRequest): Violation[] {
  if (!clockSkew) return [];
  const { seconds, nanos } = clockSkew;
  const valid = seconds >= 0n && seconds <= longestSeconds && nanos >= 0 && nanos < 1_000_000_000;
  return valid
    ? []
    : [{ field: "clockSkew", description: "must be a duration of 0 or more", reason: "DURATION_MALFORMED" }];
}

function originViolations({ additionalOrigins }: CreateOidcApplicationRequest): Violation[] {
  return additionalOrigins.flatMap((origin, index) => {
    const fault = originFault(origin);
    const description = `must be scheme://hostname[:port]: ${fault}`;
    return fault ? [{ field: `additionalOrigins[${index}]`, description, reason: "ORIGIN_MALFORMED" }] : [];
  });
}

/** An application as its row holds it. */
export type ApplicationRow = {
  id: string;
  owner: string;
  projectId: string;
  name: string;
  clientId: string;
  oidc: JsonObject;
  version: bigint;
  created: Date;
  changed: Date;
};

/** The row of a project that has no application to show. */
type Absent = { id: null };

type ApplicationKey = { owner: string; project: string; app: string };

const keyOf = ({ projectId, appId }: { projectId: string; appId: string }, call: Call): ApplicationKey => ({
  owner: organizationOf(call),
  project: projectId,
  app: appId,
});

function found(row: ApplicationRow | Absent | undefined, ids: { projectId: string; appId: string }): ApplicationRow {
  if (!row) throw refuse.notFound("project", ids.projectId);
  if (!isThere(row)) throw refuse.notFound("application", ids.appId);
  return row;
}

const isThere = (row: ApplicationRow | Absent): row is ApplicationRow => row.id !== null;

function application(row: ApplicationRow, call: Call) {
  const { id, projectId, name, clientId } = row;
  const oidc = configurationIn(row);
  return { id, details: details(row), projectId, name, clientId, oidc, ...complianceOf(oidc, languageOf(call)) };
}

// An older node ignores values that it does not know.
const configurationIn = ({ oidc }: ApplicationRow) =>
  fromJson(OidcConfigurationSchema, oidc, { ignoreUnknownFields: true });

const languageOf = (call: Call) => call.values.get(keys.language) ?? "en";

const keepsSecret = ({ authMethodType }: Pick<OidcConfiguration, "authMethodType">) =>
  authMethodType === OidcAuthMethodType.BASIC || authMethodType === OidcAuthMethodType.POST;

function newSecret() {
  const clientSecret = newToken("cs");
  return { clientSecret, secret: { hash: hashToken(clientSecret).toString("hex") } };
}

/** The secret of a new application: the hash that it came with, or a new one that the answer shows. */
function secretFor({ clientSecretHash: hash }: CreateOidcApplicationRequest, oidc: OidcConfiguration) {
  if (hash !== undefined) return { secret: { hash: hash.toLowerCase() } };
  return keepsSecret(oidc) ? newSecret() : {};
}

function after(time: Date, overlap: Duration | undefined): Date {
  const milliseconds = overlap ? Number(overlap.seconds) * 1000 + Math.trunc(overlap.nanos / 1e6) : 0;
  return new Date(time.getTime() + milliseconds);
}

type ProjectForName = { takenBy: string | null; clientIdUsed: boolean };

const projectForNameRead = (sql: Sql) =>
  loadOne<{ owner: string; project: string; name: string; client_id: string | null }, ProjectForName>(sql, {
    asked: "owner text, project text, name text, client_id text",
    // In a join the name was only a filter while the table was new: every application of the project was read for each key.
    select: `select n, (
               select a.app_id from applications a where a.project_id = asked.project and a.name = asked.name) as "takenBy",
               exists (select from used_client_ids u where u.client_id = asked.client_id) as "clientIdUsed"
             from asked join projects p on p.owner = asked.owner and p.project_id = asked.project`,
  });

/** Refuses an application without its project, and one whose name or client id is taken. */
function refuseTaken(request: CreateOidcApplicationRequest, project: ProjectForName | undefined): void {
  const { projectId, name, clientId } = request;
  if (!project) throw refuse.notFound("project", projectId);
  if (project.takenBy) throw nameTaken(name, project.takenBy);
  if (clientId !== undefined && project.clientIdUsed) throw refuse.because("ID_TAKEN", takenId("clientId", clientId));
}

const applicationRead = (sql: Sql) =>
  loadOne<ApplicationKey, ApplicationRow | Absent>(sql, {
    asked: "owner text, project text, app text",
    select: `select n, a.app_id as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc,
               a.version, a.created, a.changed
             from asked join projects p on p.owner = asked.owner and p.project_id = asked.project
             left join applications a on a.owner = p.owner and a.app_id = asked.app and a.project_id = p.project_id`,
  });

const applicationsByName = (sql: Sql, { owner, projectId }: { owner: string; projectId: string }, page: Page) =>
  sql<(ApplicationRow | Absent)[]>`
  select a.app_id as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc,
    a.version, a.created, a.changed
  from projects p left join lateral (
    select app_id, owner, project_id, name, client_id, oidc, version, created, changed from applications
    where project_id = p.project_id and ${page.after ? sql`name > ${page.after[0] ?? ""}` : sql`true`}
    order by name limit ${page.limit}) a on true
  where p.owner = ${owner} and p.project_id = ${projectId}
  order by a.name`;

function nameTaken(name: string, appId: string) {
  return refuse.because("APPLICATION_NAME_TAKEN", {
    params: { name, appId },
    resource: { noun: "application", id: appId },
  });
}
