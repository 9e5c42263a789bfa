import { create, equals } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  AccessTokenAlgorithm,
  ApiApplicationUpdateSchema,
  type ApiConfiguration,
  ApiConfigurationSchema,
  type ApplicationService,
  type CreateApiApplicationRequest,
  CreateApiApplicationRequestSchema,
  type UpdateApiApplicationRequest,
  UpdateApiApplicationRequestSchema,
} from "../../../gen/postern/v1/application_pb.ts";
import { type Call, type Deps, organizationOf, ownsInstance } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { details, detailsAfter, factOf, first, next } from "../../events/fact.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { lateRule, messageRule } from "../../rules.ts";
import { changesOf, refuseOvertaken, updateRule } from "../reading/update_mask.ts";
import { apiConfigurationOf, keepsApiSecret, oidcOf } from "./api_configuration.ts";
import {
  applicationCondition,
  applicationNameTaken,
  configurationIn,
  found,
  keyOf,
  newSecret,
  projectForNameRead,
  type RefusedApplication,
  refuseNew,
  refuseTaken,
  takenInRequest,
} from "./application.ts";
import { apiProblemsOf } from "./compliance.ts";
import { type IssuerSettings, issuerHere } from "./issuer_here.ts";
import { scopeViolations } from "./resource_scope.ts";
import { type UriWish, urisJudged, uriViolations } from "./resource_uri.ts";
import { found as complianceFound } from "./stored_compliance.ts";
import { type ApplicationToUpdate, updateRead } from "./update_application.ts";

type Service = Pick<ServiceImpl<typeof ApplicationService>, "createApiApplication" | "updateApiApplication">;

/** API applications: resource servers, which introspect tokens, and whose URIs others request tokens for. */
export const apiApplications = ({ log, sql, clock, ids }: Deps, settings: IssuerSettings) => {
  const applicationToUpdate = updateRead(sql);
  const [judged, projectForName] = [judgement(sql, settings), projectForNameRead(sql)];

  return {
    async createApiApplication(request, call) {
      const { projectId, name, resourceUris: uris } = request;
      const owner = organizationOf(call);
      const wish = { owner, appId: undefined, uris, path: "", isGiver: ownsInstance(call) };
      const { given, violations } = await judged(wish, call);
      if (violations.length > 0) throw await wrong(request, violations, call);
      const at = first(owner, ids(), clock());
      const clientId = request.clientId ?? ids();
      const { secret, ...shown } = secretFor(request);
      const api = newApi(request, given);
      const value = { projectId, name, clientId, api, compliance: judgedAs(api, false) };
      const fact = { case: "apiCreated", value } as const;
      const answer = { appId: at.stream, details: detailsAfter(at), clientId, ...shown };
      const created = factOf("application", at, fact, secret);
      const refused = await log.appendIf<RefusedApplication>(call, created, answer, applicationCondition);
      return refused ? refuseNew(request, refused) : answer;
    },

    async updateApiApplication(request, call) {
      const row = found(await applicationToUpdate(lookupKeyOf(request, call), call.signal), request);
      if (!row.isApi) throw refuse.because("APPLICATION_NOT_API", { params: { id: row.id } });
      refuseOvertaken(row, request.expectedSequence);
      const { name, before, changed, wish } = updated(row, request, call);
      refuseTakenName(row, name);
      const { given, violations } = await judged(wish, call);
      if (violations.length > 0) throw refuse.invalid(violations);
      const api = create(ApiConfigurationSchema, { ...changed, givenResourceUris: given });
      if (name === row.name && equals(ApiConfigurationSchema, before, api))
        return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const { secret, ...shown } = keepsApiSecret(api) && !keepsApiSecret(before) ? newSecret() : {};
      const value = { name, api, compliance: judgedAs(api, row.hasKey) };
      const fact = factOf("application", at, { case: "apiChanged", value }, secret);
      return log.append(call, [fact], { details: detailsAfter(at), ...shown });
    },
  } satisfies Service;

  /** The error for invalid URIs. If the name is taken as well, only that is reported: an import then knows that the application exists. */
  async function wrong(request: CreateApiApplicationRequest, violations: readonly Violation[], call: Call) {
    const { projectId: project, name, clientId } = request;
    const asked = { owner: organizationOf(call), project, name, client_id: clientId ?? null };
    refuseTaken(request, await projectForName(asked, call.signal));
    return refuse.invalid(violations);
  }
};

/** Makes the check of an application's URIs in a call. */
function judgement(sql: Sql, settings: IssuerSettings) {
  const judged = urisJudged(sql);
  return (wish: Omit<UriWish, "issuer">, call: Call & Pick<HandlerContext, "url">) =>
    judged({ ...wish, issuer: new URL(issuerHere(settings, call)).origin }, call.signal);
}

const path = "application.";

/** The configuration of a new application, whose JWTs are signed with ES256 unless the request says otherwise. */
function newApi(request: CreateApiApplicationRequest, givenResourceUris: string[]) {
  const { authMethodType, resourceUris, accessTokenType, scopes, acceptsClientDocuments } = request;
  const { accessTokenAlgorithm = AccessTokenAlgorithm.ES256 } = request;
  const format = { accessTokenType, accessTokenAlgorithm };
  return { authMethodType, resourceUris, givenResourceUris, ...format, scopes, acceptsClientDocuments };
}

export const apiApplicationRules = [
  messageRule(CreateApiApplicationRequestSchema, hashViolations, ["authMethodType"]),
  messageRule(CreateApiApplicationRequestSchema, ({ resourceUris, scopes }) => [
    ...uriViolations(resourceUris, ""),
    ...scopeViolations(scopes, ""),
  ]),
  updateRule(UpdateApiApplicationRequestSchema, "application"),
  messageRule(UpdateApiApplicationRequestSchema, ({ application }) =>
    application ? [...uriViolations(application.resourceUris, path), ...scopeViolations(application.scopes, path)] : [],
  ),
];

export function apiApplicationLateRules({ sql }: Pick<Deps, "sql">) {
  const projectForName = projectForNameRead(sql);
  const applicationToUpdate = updateRead(sql);
  const judged = urisJudged(sql);
  const needed = ["projectId", "appId", "updateMask", "application.name"];
  return [
    lateRule(CreateApiApplicationRequestSchema, ["projectId"], (request, call: Call, wrong) =>
      takenInRequest(projectForName, request, { call, wrong }),
    ),
    lateRule(UpdateApiApplicationRequestSchema, needed, async (request, call: Call) => {
      const { name, ...key } = lookupKeyOf(request, call);
      const row = await applicationToUpdate({ ...key, name }, call.signal);
      return row && row.id !== null ? (takenBy(row, name ?? "")?.violations ?? []) : [];
    }),
    lateRule(CreateApiApplicationRequestSchema, ["resourceUris"], async ({ resourceUris: uris }, call: Call) => {
      const asks = { owner: organizationOf(call), appId: undefined, uris, path: "", issuer: undefined };
      return (await judged({ ...asks, isGiver: ownsInstance(call) }, call.signal)).violations;
    }),
    lateRule(UpdateApiApplicationRequestSchema, ["appId", `${path}resourceUris`], async (request, call: Call) => {
      const { appId, application } = request;
      const asks = { owner: organizationOf(call), appId, uris: application?.resourceUris ?? [], issuer: undefined };
      return (await judged({ ...asks, path, isGiver: ownsInstance(call) }, call.signal)).violations;
    }),
  ];
}

function hashViolations(request: CreateApiApplicationRequest): Violation[] {
  if (request.clientSecretHash === undefined || keepsApiSecret(request)) return [];
  return [{ field: "clientSecretHash", text: "SECRET_NOT_KEPT", reason: "SECRET_NOT_KEPT" }];
}

const judgedAs = (api: Pick<ApiConfiguration, "authMethodType">, hasKey: boolean) =>
  complianceFound(apiProblemsOf(oidcOf(api), hasKey));

/** The secret of a new application: the hash in the request, or a new secret that the response shows. */
function secretFor(request: CreateApiApplicationRequest) {
  const { clientSecretHash: hash } = request;
  if (hash !== undefined) return { secret: { hash: hash.toLowerCase() } };
  return keepsApiSecret(request) ? newSecret() : {};
}

function lookupKeyOf(request: UpdateApiApplicationRequest, call: Call) {
  const { name = null } = changesOf(ApiApplicationUpdateSchema, request.application, request.updateMask);
  return { ...keyOf(request, call), name };
}

type Updated = {
  readonly name: string;
  readonly before: ApiConfiguration;
  readonly changed: ApiConfiguration;
  readonly wish: Omit<UriWish, "issuer">;
};

function updated(row: ApplicationToUpdate, request: UpdateApiApplicationRequest, call: Call): Updated {
  const before = create(ApiConfigurationSchema, apiConfigurationOf(configurationIn(row), row.api));
  const changesIn = changesOf(ApiApplicationUpdateSchema, request.application, request.updateMask);
  const { name = row.name, ...changes } = changesIn;
  const changed = { ...before, ...changes };
  // An owner of the instance who changes only other fields gives no URIs.
  const isGiver = changes.resourceUris !== undefined && ownsInstance(call);
  return { name, before, changed, wish: { ...row, appId: row.id, uris: changed.resourceUris, path, isGiver } };
}

const takenBy = ({ takenBy: appId }: ApplicationToUpdate, name: string) =>
  appId === null ? undefined : applicationNameTaken({ field: "application.name", name, appId });

function refuseTakenName(row: ApplicationToUpdate, name: string): void {
  const no = takenBy(row, name);
  if (no) throw refuse.because(no.reason, no);
}
