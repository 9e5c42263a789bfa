import { equals } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type ApplicationService,
  OidcApplicationUpdateSchema,
  type OidcConfiguration,
  OidcConfigurationSchema,
  type UpdateOidcApplicationRequest,
  UpdateOidcApplicationRequestSchema,
} from "../../../gen/postern/v1/application_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { details, detailsAfter, factOf, next } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { lateRule, messageRule } from "../../rules.ts";
import { changesOf, refuseOvertaken, updateRule } from "../reading/update_mask.ts";
import { asRead } from "../writing/taken_name.ts";
import {
  type Absent,
  type ApplicationKey,
  applicationNameTaken,
  configurationIn,
  found,
  keepsSecret,
  keyOf,
  languageOf,
  newSecret,
  ofApplication,
} from "./application.ts";
import { type ApplicationRow, applicationColumns } from "./application_row.ts";
import { complianceOf } from "./compliance.ts";
import { refuseFirstParty, refuseMark } from "./first_party.ts";
import { completed, flowViolations, originsOf, settingViolations } from "./oidc_configuration.ts";
import { found as complianceFound } from "./stored_compliance.ts";

type Update = Pick<ServiceImpl<typeof ApplicationService>, "updateOidcApplication">;

export const applicationUpdate = ({ log, sql, clock }: Deps) => {
  const applicationToUpdate = updateRead(sql);

  return {
    async updateOidcApplication(request, call) {
      const row = found(await applicationToUpdate(lookupKeyOf(request, call), call.signal), request);
      if (row.isApi || row.isDocument) throw refuse.because("APPLICATION_NOT_OIDC", { params: { id: row.id } });
      refuseOvertaken(row, request.expectedSequence);
      const { name, before, oidc } = updated(row, request);
      if (oidc.firstParty !== before.firstParty) refuseMark(call, `${path}firstParty`);
      refuseFirstParty(row.oidc, call);
      refuseUnfit(oidc, row, name);
      const compliance = complianceOf(oidc, languageOf(call), row.hasKey);
      const isSame = name === row.name && equals(OidcConfigurationSchema, before, oidc);
      if (isSame || request.validateOnly) return log.append(call, [], { details: details(row), ...compliance });
      const at = next(row, clock());
      const { secret, ...shown } = keepsSecret(oidc) && !keepsSecret(before) ? newSecret() : {};
      const value = { name, oidc, compliance: complianceFound(compliance.complianceProblems) };
      const changed = factOf("application", at, { case: "oidcChanged", value }, secret);
      return log.append(call, [changed], { details: detailsAfter(at), ...shown, ...compliance });
    },
  } satisfies Update;
};

export const applicationUpdateRules = [
  updateRule(UpdateOidcApplicationRequestSchema, "application"),
  messageRule(UpdateOidcApplicationRequestSchema, ({ application }) =>
    application ? settingViolations(application, path) : [],
  ),
];

const path = "application.";

const flowFields = ["application.responseTypes", "application.grantTypes"];

/** Late rules for the update of an application: a new name must be free, and new types must match the unchanged ones. */
export function applicationUpdateLateRules({ sql }: Pick<Deps, "sql">) {
  const applicationToUpdate = updateRead(sql);
  const rowOf = async (request: UpdateOidcApplicationRequest, call: Call) => {
    const row = await applicationToUpdate(lookupKeyOf(request, call), call.signal);
    return row === undefined || row.id === null ? undefined : row;
  };
  const needed = ["projectId", "appId", "updateMask"];
  return [
    lateRule(UpdateOidcApplicationRequestSchema, [...needed, "application.name"], async (request, call: Call) => {
      const row = await rowOf(request, call);
      return row ? (takenBy(lookupKeyOf(request, call).name ?? "", row)?.violations ?? []) : [];
    }),
    lateRule(UpdateOidcApplicationRequestSchema, [...needed, ...flowFields], async (request, call: Call) => {
      // The name may be the invalid field.
      const row = await rowOf({ ...request, application: undefined }, call);
      return row ? flowViolations(completed({ ...configurationIn(row), ...flowChanges(request) }), path) : [];
    }),
  ];
}

function flowChanges({ application, updateMask }: UpdateOidcApplicationRequest) {
  const { responseTypes, grantTypes } = changesOf(OidcApplicationUpdateSchema, application, updateMask);
  return { ...(responseTypes && { responseTypes }), ...(grantTypes && { grantTypes }) };
}

/** Reports mismatched response and grant types together with a name that is taken. */
function refuseUnfit(oidc: OidcConfiguration, row: ApplicationToUpdate, name: string): void {
  const no = takenBy(name, row);
  const unfit = flowViolations(oidc, path);
  if (unfit.length > 0) throw refuse.invalid([...(no?.violations ?? []), ...unfit]);
  if (no) throw refuse.because(no.reason, no);
}

const takenBy = (name: string, { takenBy }: ApplicationToUpdate) =>
  takenBy === null ? undefined : applicationNameTaken({ field: `${path}name`, name, appId: takenBy });

function updated(row: ApplicationRow, { application, updateMask }: UpdateOidcApplicationRequest) {
  const { name = row.name, ...changes } = changesOf(OidcApplicationUpdateSchema, application, updateMask);
  const before = configurationIn(row);
  const { additionalOrigins: origins } = changes;
  const oidc = completed({ ...before, ...changes, ...(origins && { additionalOrigins: originsOf(origins) }) });
  return { name, before, oidc };
}

export type UpdateKey = ApplicationKey & { readonly name: string | null };

function lookupKeyOf(request: UpdateOidcApplicationRequest, call: Call): UpdateKey {
  const { name = null } = changesOf(OidcApplicationUpdateSchema, request.application, request.updateMask);
  return { ...keyOf(request, call), name };
}

/** An application to update, and the other one of its project that already has the new name. */
export type ApplicationToUpdate = ApplicationRow & { readonly takenBy: string | null };

export const updateRead = (sql: Sql) =>
  loadOne<UpdateKey, ApplicationToUpdate | Absent>(sql, {
    asked: "owner text, project text, app text, name text",
    select: `select n, ${applicationColumns},
               (select t.app_id from applications t
                where asked.name <> a.name and t.project_id = asked.project
                  and ${asRead("t.name")} = ${asRead("asked.name")} and t.app_id <> asked.app limit 1) as "takenBy"
             ${ofApplication}`,
  });
