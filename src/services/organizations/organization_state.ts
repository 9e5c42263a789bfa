import type { ServiceImpl } from "@connectrpc/connect";
import type { OrganizationService } from "../../../gen/postern/v1/organization_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { detailsAfter, factOf, next, plainFact, type Versioned } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { keepsOwnersElsewhere, ownersElsewhere } from "../members/last_owner.ts";
import { activeStates } from "../writing/active_state.ts";
import { dropImages } from "./brand_image.ts";
import { whatItHas } from "./what_it_has.ts";

export const organizationState = (deps: Deps) => {
  const { log, sql, clock } = deps;
  const organizationToShut = shutRead(sql);
  const states = activeStates(deps, (at, kind) => plainFact("organization", at, kind));

  return {
    async deactivateOrganization({ organizationId }, call) {
      const row = await organizationOf(organizationId, call);
      if (row.active && !row.ownersElsewhere) throw refuse.because("LAST_OWNER");
      return states.deactivate(row, call);
    },

    reactivateOrganization: async ({ organizationId }, call) =>
      states.reactivate(await organizationOf(organizationId, call), call),

    async deleteOrganization({ organizationId }, call) {
      const row = await organizationOf(organizationId, call);
      if (!row.ownersElsewhere) throw refuse.because("LAST_OWNER");
      const at = next(row, clock());
      const deleted = factOf("organization", at, { case: "deleted", value: {} });
      return log.appendLong(call, deleted, (jobId) => ({ details: detailsAfter(at), ...(jobId && { jobId }) }));
    },
  } satisfies Partial<ServiceImpl<typeof OrganizationService>>;

  async function organizationOf(id: string, { signal }: Call) {
    const row = await organizationToShut({ id }, signal);
    if (!row) throw refuse.notFound("organization", id);
    return row;
  }
};

function touchOrganization(columns: string): string {
  return `update organizations t set ${columns}, version = f.version, changed = f.time
   from $facts f where t.organization_id = f.stream`;
}

// Others can have its domains at once.
const gone = [
  touchOrganization("active = false, deleted = true"),
  "update domains d set proven = false from $facts f where d.owner = f.stream",
  "delete from organization_metadata m using $facts f where m.organization_id = f.stream",
];

export const organizationStateFolds = {
  deactivated: {
    views: [touchOrganization("active = false")],
    cascades: [keepsOwnersElsewhere("organization.deactivated")],
  },
  reactivated: { views: [touchOrganization("active = true")] },
  deleted: {
    views: gone,
    cascades: [keepsOwnersElsewhere("organization.deleted")],
    later: { always: () => true, begins: gone, steps: whatItHas, ends: [] },
  },
  purged: {
    views: [
      "delete from password_policies p using $facts f where p.owner = f.stream",
      "delete from lockout_policies p using $facts f where p.owner = f.stream",
      "delete from factor_policies p using $facts f where p.owner = f.stream",
      "delete from privacy_policies p using $facts f where p.owner = f.stream",
      "delete from registration_policies p using $facts f where p.owner = f.stream",
      "delete from sign_in_policies p using $facts f where p.owner = f.stream",
      "delete from brandings b using $facts f where b.owner = f.stream",
      "delete from ended_roles e using $facts f where e.organization_id = f.stream",
      "delete from organizations o using $facts f where o.organization_id = f.stream",
    ],
    credentials: [...dropImages("stream")],
  },
} satisfies Pick<NounFolds<"organization">, "deactivated" | "reactivated" | "deleted" | "purged">;

type OrganizationToShut = Versioned & {
  readonly active: boolean;
  /** Whether the instance has an active owner in another organization. */
  readonly ownersElsewhere: boolean;
};

const shutRead = (sql: Sql) =>
  loadOne<{ id: string }, OrganizationToShut>(sql, {
    asked: "id text",
    select: `select n, t.organization_id as id, t.organization_id as owner, t.active, t.version, t.created, t.changed,
               exists (${ownersElsewhere("asked.id")}) as "ownersElsewhere"
             from asked join organizations t on t.organization_id = asked.id and not t.deleted`,
  });
