import type { ServiceImpl } from "@connectrpc/connect";
import {
  type OrganizationService,
  OrganizationUpdateSchema,
  UpdateOrganizationRequestSchema,
} from "../../../gen/postern/v1/organization_pb.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { details, detailsAfter, factOf, next, type Versioned } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { history, selected } from "../reading/row.ts";
import { changesOf, refuseOvertaken, updateRule } from "../reading/update_mask.ts";
import { asRead, takenName } from "../writing/taken_name.ts";
import type { OrganizationRow } from "./organization_row.ts";

type Update = Pick<ServiceImpl<typeof OrganizationService>, "updateOrganization">;

export const organizationUpdate = ({ log, sql, clock }: Deps) => {
  const organizationToUpdate = updateRead(sql);

  return {
    async updateOrganization({ organizationId, updateMask, expectedSequence, ...request }, call) {
      const changes = changesOf(OrganizationUpdateSchema, request.organization, updateMask);
      const row = await organizationToUpdate({ id: organizationOf(call), name: changes.name ?? null }, call.signal);
      if (!row) throw refuse.notFound("organization", organizationId);
      refuseOvertaken(row, expectedSequence);
      const {
        name = row.name,
        ownLoginNames = row.ownLoginNames,
        requiresAcceptance = row.requiresAcceptance,
      } = changes;
      if (row.takenBy !== null)
        throw organizationNameTaken({ field: "organization.name", name, organizationId: row.takenBy }, call);
      if (!ownLoginNames && row.hasOwnNames) throw refuse.because("OWN_LOGIN_NAMES_IN_USE");
      const value = {
        name,
        ...(ownLoginNames === row.ownLoginNames ? {} : { ownLoginNames }),
        ...(requiresAcceptance === row.requiresAcceptance ? {} : { requiresAcceptance }),
      };
      if (name === row.name && Object.keys(value).length === 1) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const changed = factOf("organization", at, { case: "changed", value });
      return log.append(call, [changed], { details: detailsAfter(at) });
    },
  } satisfies Update;
};

export const organizationUpdateRules = [updateRule(UpdateOrganizationRequestSchema, "organization")];

/** Makes the error for a name that another organization has. Only callers with a role there or on the instance learn which one. */
export function organizationNameTaken({ field, name, organizationId }: Taken, call: Call) {
  const taken = { reason: "ORGANIZATION_NAME_TAKEN", field, name } as const;
  const isKnown = callerOf(call).memberships.some(({ scope, id }) => scope === "instance" || id === organizationId);
  const resource = { noun: "organization", id: organizationId };
  const no = takenName(isKnown ? { ...taken, params: { organizationId }, resource } : taken);
  return refuse.because(no.reason, no);
}

type Taken = { readonly field: string; readonly name: string; readonly organizationId: string };

const names = ["name", "ownLoginNames", "requiresAcceptance"] as const;

type Row = Pick<OrganizationRow, keyof Versioned | (typeof names)[number]> & {
  readonly takenBy: string | null;
  /** Whether a user has a login name that is the organization's own. A foreign key decides races. */
  readonly hasOwnNames: boolean;
};

const layout = { lines: ["requiresAcceptance", "version"], indent: 15 };

/** Reads an organization, and another one that already has the new name. */
const updateRead = (sql: Sql) =>
  loadOne<{ id: string; name: string | null }, Row>(sql, {
    asked: "id text, name text",
    select: `select n, o.organization_id as id, o.organization_id as owner, ${selected("o", [...names, ...Object.keys(history)], layout)},
               exists (select from organization_login_names l where l.owner = asked.id and l.own offset 0) as "hasOwnNames",
               (select t.organization_id from organizations t
                where asked.name <> o.name and ${asRead("t.name")} = ${asRead("asked.name")}
                  and t.organization_id <> asked.id and not t.deleted limit 1) as "takenBy"
             from asked join organizations o on o.organization_id = asked.id and not o.deleted`,
  });
