import { fromJson } from "@bufbuild/protobuf";
import { type Duration, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type ApplicationService,
  ApplicationState,
  type CreateOidcApplicationRequest,
  CreateOidcApplicationRequestSchema,
  ListApplicationsRequestSchema,
  OidcAuthMethodType,
  OidcAuthMethodTypeSchema,
  type OidcConfiguration,
  OidcConfigurationSchema,
} from "../../../gen/postern/v1/application_pb.ts";
import { type Call, type Deps, keys, organizationOf } from "../../deps.ts";
import { isWithin, refuse, type Violation } from "../../errors.ts";
import { details, detailsAfter, factOf, first, next } from "../../events/fact.ts";
import { type Condition, type NounFolds, touch } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import type { Language } from "../../messages/catalogue.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { lateRule, messageRule } from "../../rules.ts";
import { hashToken, newToken } from "../../security/token.ts";
import { handlers } from "../module.ts";
import { type NamedRow, namedRule, queryByName, readNamed } from "../reading/list_statement.ts";
import { cut, pageOf, pageRule } from "../reading/page.ts";
import { historyInFact, inFact } from "../reading/row.ts";
import { takenId } from "../users/new_user.ts";
import { joined, type No } from "../writing/batch_refusal.ts";
import { connectionsEnd } from "../writing/connections_end.ts";
import { asRead, takenName } from "../writing/taken_name.ts";
import { type apiApplicationFolds, apiConfigurationOf } from "./api_configuration.ts";
import { applicationList } from "./application_list.ts";
import { type ApplicationRow, applicationColumns, applicationInserted } from "./application_row.ts";
import { applicationState, applicationStateFolds } from "./application_state.ts";
import { apiComplianceOf, complianceOf } from "./compliance.ts";
import type { documentApplicationFolds } from "./document_application.ts";
import { refuseFirstParty, refuseMark } from "./first_party.ts";
import { configurationOf, flowOf, flowViolations, settingViolations } from "./oidc_configuration.ts";
import {
  found as complianceFound,
  isAsked,
  judged,
  judgedInFact,
  judgedWithKey,
  judgedWithoutKey,
  problemsUnknown,
  stillJudged,
} from "./stored_compliance.ts";

export const applicationService = (deps: Deps) => {
  const { log, sql, clock, ids } = deps;
  const projectForName = projectForNameRead(sql);
  const applicationOf = applicationRead(sql);

  const states = applicationState(deps, async (request, call) =>
    found(await applicationOf(keyOf(request, call), call.signal), request),
  );

  return handlers(states, {
    async createOidcApplication(request, call) {
      const { projectId, name } = request;
      const oidc = configurationOf(request);
      if (oidc.firstParty) refuseMark(call, "firstParty");
      const owner = organizationOf(call);
      const compliance = complianceOf(oidc, languageOf(call));
      if (request.validateOnly) {
        const asked = { owner, project: projectId, name, client_id: request.clientId ?? null };
        refuseTaken(request, await projectForName(asked, call.signal));
        return log.append(call, [], compliance);
      }
      const at = first(owner, ids(), clock());
      const clientId = request.clientId ?? ids();
      const { secret, ...shown } = secretFor(request, oidc);
      const value = { projectId, name, clientId, oidc, compliance: complianceFound(compliance.complianceProblems) };
      const fact = { case: "oidcCreated", value } as const;
      const answer = { appId: at.stream, details: detailsAfter(at), clientId, ...shown, ...compliance };
      const created = factOf("application", at, fact, secret);
      const refused = await log.appendIf<RefusedApplication>(call, created, answer, applicationCondition);
      return refused ? refuseNew(request, refused) : answer;
    },

    async getApplication(request, call) {
      const row = found(await applicationOf(keyOf(request, call), call.signal), request);
      return { application: application(row, call, clock()) };
    },

    async listApplications(request, call) {
      const { projectId: project } = request;
      const page = pageOf(ListApplicationsRequestSchema, request, 2);
      const owner = organizationOf(call);
      const isThere = project === "" || (await projectForName({ ...unnamed, owner, project }, call.signal));
      if (!isThere) throw refuse.notFound("project", project);
      const query = queryByName(request, "folded(a.name)", ApplicationState);
      const { compliance } = request.filter ?? {};
      const list = applicationList(sql, query, { owner, project, compliance });
      const { rows, nextPageToken } = cut(await readNamed<ApplicationRow>(sql, [list], page), page, keysOfName);
      const listed = rows.map((row) => application(row, call, clock()));
      return { applications: listed.filter(({ noneCompliant }) => isAsked(noneCompliant, compliance)), nextPageToken };
    },

    async rotateClientSecret(request, call) {
      const row = found(await applicationOf(keyOf(request, call), call.signal), request);
      refuseFirstParty(row.oidc, call);
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
      const deleted = factOf("application", at, { case: "deleted", value: { consentsFollow: true } });
      return log.appendLong(call, deleted, (jobId) => ({ details: detailsAfter(at), ...(jobId && { jobId }) }));
    },
  } satisfies Partial<ServiceImpl<typeof ApplicationService>>);
};

const keysOfName = ({ key, id }: NamedRow) => [key, id];

const methodsWithSecret = [OidcAuthMethodType.BASIC, OidcAuthMethodType.POST]
  .map((method) => `'${OidcAuthMethodTypeSchema.value[method]?.name}'`)
  .join(", ");

const replaced = `(i.payload->>'previousSecretExpirationDate')::timestamptz`;

const gone = [
  `delete from resource_uris r using $facts f where r.app_id = f.stream`,
  `delete from application_keys k using $facts f where k.app_id = f.stream`,
  `delete from applications a using $facts f where a.owner = f.owner and a.app_id = f.stream`,
  `delete from client_ids c using $facts f where c.owner = f.owner and c.app_id = f.stream`,
];

const whatRests = connectionsEnd({ app: "i.stream" });

const oidcInserted = applicationInserted(
  ["api", "isApi", "isDocument", "active"],
  { ...inFact("projectId", "name", "clientId"), oidc: "f.payload->'oidc'", ...historyInFact, ...judgedInFact },
  { values: ["version"] },
);

/** The folds of facts about an application: they write its row, its client id and its client secrets. */
export const applicationFolds = {
  ...applicationStateFolds,
  oidcCreated: {
    views: [
      `${oidcInserted} from $facts f`,
      `insert into client_ids (client_id, owner, app_id) select f.payload->>'clientId', f.owner, f.stream from $facts f`,
    ],
    unknownBefore: problemsUnknown,
    credentials: [
      `insert into client_secrets (app_id, hash)
       select i.stream, decode(i.secret->>'hash', 'hex') from $input i where i.secret->>'hash' is not null`,
    ],
  },
  clientSecretRotated: {
    views: [touch("applications", "app_id", stillJudged)],
    credentials: [
      `delete from client_secrets s using $input i
       where s.app_id = i.stream and (s.expiration_date is not null or ${replaced} <= i.time)`,
      `update client_secrets s set expiration_date = ${replaced} from $input i
       where s.app_id = i.stream and s.expiration_date is null and ${replaced} > i.time`,
      `insert into client_secrets (app_id, hash) select i.stream, decode(i.secret->>'hash', 'hex') from $input i`,
    ],
  },
  oidcChanged: {
    views: [touch("applications", "app_id", `name = f.payload->>'name', oidc = f.payload->'oidc', ${judged}`)],
    // A secret is added only where there was none; an authentication method that needs none ends the existing ones.
    credentials: [
      `insert into client_secrets (app_id, hash)
       select i.stream, decode(i.secret->>'hash', 'hex') from $input i where i.secret->>'hash' is not null`,
      `delete from client_secrets s using $facts f
       where s.app_id = f.stream and f.payload->'oidc'->>'authMethodType' not in (${methodsWithSecret})`,
    ],
  },
  keyAdded: {
    views: [
      `insert into application_keys (owner, app_id, key_id, kid, jwk, jwks_uri, version, created)
       select f.owner, f.stream, f.payload->>'keyId', f.payload->'publicKey'->>'kid', f.payload->'publicKey',
         f.payload->>'jwksUri', f.version, f.time from $facts f`,
      touch("applications", "app_id", judgedWithKey),
    ],
  },
  keyRemoved: {
    views: [
      `delete from application_keys k using $facts f where k.app_id = f.stream and k.key_id = f.payload->>'keyId'`,
      touch("applications", "app_id", judgedWithoutKey),
    ],
  },
  deleted: {
    // Events of earlier releases, and those of a project's applications, are not followed by events of their consents.
    views: [
      ...gone,
      `delete from consents c using $facts f
       where c.app_id = f.stream and not coalesce((f.payload->>'consentsFollow')::boolean, false)`,
    ],
    credentials: [`delete from client_secrets s using $facts f where s.app_id = f.stream`],
    cascades: whatRests.map((step) => ({ ...step, extent: "many" as const })),
    later: { begins: gone, steps: whatRests, ends: [] },
  },
} satisfies Omit<NounFolds<"application">, keyof typeof apiApplicationFolds | keyof typeof documentApplicationFolds>;

export const applicationRules = [
  messageRule(CreateOidcApplicationRequestSchema, (request) => flowViolations(flowOf(request)), [
    "responseTypes",
    "grantTypes",
  ]),
  messageRule(CreateOidcApplicationRequestSchema, (request) => settingViolations(request)),
  messageRule(CreateOidcApplicationRequestSchema, hashViolations, ["authMethodType"]),
  pageRule(ListApplicationsRequestSchema, 2),
  namedRule(ListApplicationsRequestSchema, ["name", "namePrefix"]),
];

function hashViolations(request: CreateOidcApplicationRequest): Violation[] {
  if (request.clientSecretHash === undefined || keepsSecret(request)) return [];
  return [{ field: "clientSecretHash", text: "SECRET_NOT_KEPT", reason: "SECRET_NOT_KEPT" }];
}

/** The row of a project without the requested application. */
export type Absent = { id: null };

/** The key of an application in its project. */
export type ApplicationKey = { owner: string; project: string; app: string };

export const keyOf = ({ projectId, appId }: { projectId: string; appId: string }, call: Call): ApplicationKey => ({
  owner: organizationOf(call),
  project: projectId,
  app: appId,
});

export function found<R extends ApplicationRow>(
  row: R | Absent | undefined,
  ids: { projectId: string; appId: string },
): R {
  if (!row) throw refuse.notFound("project", ids.projectId);
  if (!isThere(row)) throw refuse.notFound("application", ids.appId);
  return row;
}

const isThere = <R extends ApplicationRow>(row: R | Absent): row is R => row.id !== null;

function application(row: ApplicationRow, call: Call, now: Date) {
  const { id, projectId, name, clientId, replacedUntil: end } = row;
  const state = row.active ? ApplicationState.ACTIVE : ApplicationState.INACTIVE;
  const until = end && end > now ? { previousSecretExpirationDate: timestampFromDate(end) } : {};
  const about = { id, details: details(row), projectId, name, clientId, state, ...until };
  return { ...about, ...configurationShown(row, languageOf(call)) };
}

function configurationShown(row: ApplicationRow, language: Language) {
  const oidc = configurationIn(row);
  if (row.isDocument) return { bringsDocument: true, noneCompliant: false };
  if (row.isApi) return { api: apiConfigurationOf(oidc, row.api), ...apiComplianceOf(oidc, language, row.hasKey) };
  return { oidc, ...complianceOf(oidc, language, row.hasKey) };
}

/** Ignores unknown values, which a newer node may have written. */
export const configurationIn = ({ oidc }: Pick<ApplicationRow, "oidc">) =>
  fromJson(OidcConfigurationSchema, oidc, { ignoreUnknownFields: true });

export const languageOf = (call: Call) => call.values.get(keys.language) ?? "en";

export const keepsSecret = ({ authMethodType }: Pick<OidcConfiguration, "authMethodType">) =>
  authMethodType === OidcAuthMethodType.BASIC || authMethodType === OidcAuthMethodType.POST;

/** Generates a client secret: the text to show, and the hash to store. */
export function newSecret() {
  const clientSecret = newToken("cs");
  return { clientSecret, secret: { hash: hashToken(clientSecret).toString("hex") } };
}

/** The secret of a new application: the hash in the request, or a new secret that the response shows. */
function secretFor({ clientSecretHash: hash }: CreateOidcApplicationRequest, oidc: OidcConfiguration) {
  if (hash !== undefined) return { secret: { hash: hash.toLowerCase() } };
  return keepsSecret(oidc) ? newSecret() : {};
}

/** The time at which an overlap ends. */
export function after(time: Date, overlap: Duration | undefined): Date {
  const milliseconds = overlap ? Number(overlap.seconds) * 1000 + Math.trunc(overlap.nanos / 1e6) : 0;
  return new Date(time.getTime() + milliseconds);
}

/** The application of the project that already has the name, and whether the client id was ever used. */
export type ProjectForName = { takenBy: string | null; clientIdUsed: boolean };

// Looks up the project alone.
const unnamed = { name: "", client_id: null } as const;

// In a join the planner used the name only as a filter while the table was new, and read every application of the project for each key.
// Without the offset, it might hash every client id ever used.
const takenColumns = `(
               select a.app_id from applications a
               where a.project_id = asked.project and ${asRead("a.name")} = ${asRead("asked.name")} limit 1) as "takenBy",
               (exists (select from used_client_ids u where u.client_id = asked.client_id offset 0)
                 or exists (select from burned_ids b where b.id = asked.client_id offset 0)) as "clientIdUsed"`;

/** The condition of the fact that creates an application: the project exists, and name and client id are free. */
export const applicationCondition: Condition = {
  asked: `owner, payload->>'projectId' as project, payload->>'name' as name, payload->>'clientId' as client_id`,
  select: `select found.*, "isThere" and "takenBy" is null and not "clientIdUsed" as holds
    from (select n, p.project_id is not null as "isThere", ${takenColumns}
      from asked left join projects p on p.owner = asked.owner and p.project_id = asked.project offset 0) found`,
};

/** Reads a project, and which names of a new application are taken. */
export const projectForNameRead = (sql: Sql) =>
  loadOne<{ owner: string; project: string; name: string; client_id: string | null }, ProjectForName>(sql, {
    asked: "owner text, project text, name text, client_id text",
    select: `select n, ${takenColumns}
             from asked join projects p on p.owner = asked.owner and p.project_id = asked.project`,
  });

export function refuseTaken({ projectId, name, clientId }: NewNames, project: ProjectForName | undefined): void {
  if (!project) throw refuse.notFound("project", projectId);
  const no = joined(takenIn({ name, clientId }, project));
  if (no) throw refuse.because(no.reason, no);
}

/** The state of a new application whose condition fails. */
export type RefusedApplication = ProjectForName & { readonly isThere: boolean };

export function refuseNew(names: NewNames, refused: RefusedApplication): never {
  refuseTaken(names, refused.isThere ? refused : undefined);
  throw new Error("an application was not created for no reason");
}

/** The names of a new application. */
export type NewNames = Pick<CreateOidcApplicationRequest, "projectId" | "name" | "clientId">;

/** Finds what another application already has: the name in the project, or the client id anywhere. */
const takenIn = ({ name, clientId }: { name: string; clientId?: string | undefined }, project: ProjectForName) => [
  project.takenBy ? applicationNameTaken({ field: "name", name, appId: project.takenBy }) : undefined,
  clientId !== undefined && project.clientIdUsed ? takenId("clientId", clientId) : undefined,
];

export function applicationLateRules({ sql }: Pick<Deps, "sql">) {
  const projectForName = projectForNameRead(sql);
  return [
    lateRule(CreateOidcApplicationRequestSchema, ["projectId"], (request, call: Call, wrong) =>
      takenInRequest(projectForName, request, { call, wrong }),
    ),
  ];
}

type Found = { readonly call: Call; readonly wrong: readonly Violation[] };

/** Finds which names in a request for a new application are taken, skipping fields that are already invalid. */
export async function takenInRequest(
  projectForName: ReturnType<typeof projectForNameRead>,
  request: NewNames,
  { call, wrong }: Found,
): Promise<readonly Violation[]> {
  const isWrong = (name: string) => wrong.some(({ field }) => isWithin(field, name));
  const named = isWrong("name") ? { name: "" } : { name: request.name };
  const clientId = isWrong("clientId") ? undefined : request.clientId;
  const asked = { ...named, owner: organizationOf(call), project: request.projectId, client_id: clientId ?? null };
  const project = await projectForName(asked, call.signal);
  return project ? (joined(takenIn({ ...named, clientId }, project))?.violations ?? []) : [];
}

/** The application that a shared read looks up by its key. */
// Only by its id: where most organizations have one application, the planner would read all of one that has thousands.
export const ofApplication = `
    from asked join projects p on p.owner = asked.owner and p.project_id = asked.project
    left join applications a on a.app_id = asked.app and (a.owner = p.owner and a.project_id = p.project_id) is true`;

const applicationRead = (sql: Sql) =>
  loadOne<ApplicationKey, ApplicationRow | Absent>(sql, {
    asked: "owner text, project text, app text",
    select: `select n, ${applicationColumns} ${ofApplication}`,
  });

export function applicationNameTaken({ field, name, appId }: TakenApplicationName): No {
  const resource = { noun: "application", id: appId };
  return takenName({ reason: "APPLICATION_NAME_TAKEN", field, name, params: { appId }, resource });
}

/** A name, the path to it in the request, and the application that has it. */
type TakenApplicationName = { readonly field: string; readonly name: string; readonly appId: string };
