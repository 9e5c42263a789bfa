import type { ServiceImpl } from "@connectrpc/connect";
import {
  ApiApplicationUpdateSchema,
  type ApiConfiguration,
  type ApplicationService,
  type CreateApiApplicationRequest,
  CreateApiApplicationRequestSchema,
  type UpdateApiApplicationRequest,
  UpdateApiApplicationRequestSchema,
} from "../../../gen/postern/v1/application_pb.ts";
import { type Call, type Deps, organizationOf } from "../../deps.ts";
import { lateRule, messageRule, refuse, type Violation } from "../../errors.ts";
import { details, detailsAfter, factOf, first, next } from "../../events/fact.ts";
import { changesOf, refuseOvertaken, updateRule } from "../reading/update_mask.ts";
import { apiConfigurationOf, keepsApiSecret } from "./api_configuration.ts";
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
  takenInRequest,
} from "./application.ts";
import { type ApplicationToUpdate, updateRead } from "./update_application.ts";

type Service = Pick<ServiceImpl<typeof ApplicationService>, "createApiApplication" | "updateApiApplication">;

/** API applications: resource servers, which only introspect tokens. */
export const apiApplications = ({ log, sql, clock, ids }: Deps) => {
  const applicationToUpdate = updateRead(sql);

  return {
    async createApiApplication(request, call) {
      const { projectId, name, authMethodType } = request;
      const owner = organizationOf(call);
      const at = first(owner, ids(), clock());
      const clientId = request.clientId ?? ids();
      const { secret, ...shown } = secretFor(request);
      const fact = { case: "apiCreated", value: { projectId, name, clientId, api: { authMethodType } } } as const;
      const answer = { appId: at.stream, details: detailsAfter(at), clientId, ...shown };
      const created = factOf("application", at, fact, secret);
      const refused = await log.appendIf<RefusedApplication>(call, created, answer, applicationCondition);
      return refused ? refuseNew(request, refused) : answer;
    },

    async updateApiApplication(request, call) {
      const row = found(await applicationToUpdate(lookupKeyOf(request, call), call.signal), request);
      if (!row.isApi) throw refuse.because("APPLICATION_NOT_API", { params: { id: row.id } });
      refuseOvertaken(row, request.expectedSequence);
      const { name, before, api } = updated(row, request);
      refuseTakenName(row, name);
      if (name === row.name && api.authMethodType === before.authMethodType)
        return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const { secret, ...shown } = keepsApiSecret(api) && !keepsApiSecret(before) ? newSecret() : {};
      const changed = factOf("application", at, { case: "apiChanged", value: { name, api } }, secret);
      return log.append(call, [changed], { details: detailsAfter(at), ...shown });
    },
  } satisfies Service;
};

export const apiApplicationRules = [
  messageRule(CreateApiApplicationRequestSchema, hashViolations, ["authMethodType"]),
  updateRule(UpdateApiApplicationRequestSchema, "application"),
];

export function apiApplicationLateRules({ sql }: Pick<Deps, "sql">) {
  const projectForName = projectForNameRead(sql);
  const applicationToUpdate = updateRead(sql);
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
  ];
}

function hashViolations(request: CreateApiApplicationRequest): Violation[] {
  if (request.clientSecretHash === undefined || keepsApiSecret(request)) return [];
  return [{ field: "clientSecretHash", text: "SECRET_NOT_KEPT", reason: "SECRET_NOT_KEPT" }];
}

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

type Updated = { readonly name: string; readonly before: ApiConfiguration; readonly api: ApiConfiguration };

function updated(row: ApplicationToUpdate, { application, updateMask }: UpdateApiApplicationRequest): Updated {
  const before = apiConfigurationOf(configurationIn(row));
  const { name = row.name, ...changes } = changesOf(ApiApplicationUpdateSchema, application, updateMask);
  return { name, before, api: { ...before, ...changes } };
}

const takenBy = ({ takenBy: appId }: ApplicationToUpdate, name: string) =>
  appId === null ? undefined : applicationNameTaken({ field: "application.name", name, appId });

function refuseTakenName(row: ApplicationToUpdate, name: string): void {
  const no = takenBy(row, name);
  if (no) throw refuse.because(no.reason, no);
}
