import type { ServiceImpl } from "@connectrpc/connect";
import {
  ListOrganizationsRequestSchema,
  type OrganizationService,
  OrganizationState,
} from "../../../gen/postern/v1/organization_pb.ts";
import { type Call, callerOf, type Deps, organizationOf, reachOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { type At, details, detailsAfter, factOf, first } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import { refuseLimited } from "../../guards/held_permissions.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { userIsThere } from "../callers/in_force.ts";
import { outgrownBy } from "../members/ended_by_role.ts";
import { handlers } from "../module.ts";
import { type NamedList, type NamedQuery, namedRule, queryByName, readNamed } from "../reading/list_statement.ts";
import { cut, pageOf, pageRule } from "../reading/page.ts";
import { historyInFact, inFact, selected } from "../reading/row.ts";
import { asRead } from "../writing/taken_name.ts";
import { brandingFolds, brandingRules, organizationBranding } from "./branding.ts";
import { organizationMetadata, organizationMetadataFolds, organizationMetadataRules } from "./organization_metadata.ts";
import { type OrganizationRow, organizationInserted, organizationRow } from "./organization_row.ts";
import { organizationState, organizationStateFolds } from "./organization_state.ts";
import { organizationOverview } from "./overview.ts";
import { organizationNameTaken, organizationUpdate, organizationUpdateRules } from "./update_organization.ts";

export const organizationService = (deps: Deps) => {
  const { log, sql, clock, ids } = deps;
  const newOrganization = loadOne<{ name: string; owner: string }, { takenBy: string | null; ownerExists: boolean }>(
    sql,
    {
      asked: "name text, owner text",
      select: `select n, (select o.organization_id from organizations o
                where ${asRead("o.name")} = ${asRead("asked.name")} and not o.deleted limit 1) as "takenBy",
               ${userIsThere("asked.owner")} as "ownerExists" from asked`,
    },
  );
  const organizationById = organizationRead(sql);
  const ownerOf = newOwner(deps);

  return handlers(
    organizationState(deps),
    organizationUpdate(deps),
    organizationBranding(deps),
    organizationMetadata(deps),
    organizationOverview(deps),
    {
      async createOrganization({ name, ownerUserId, ownLoginNames }, call) {
        const { takenBy = null, ownerExists = false } =
          (await newOrganization({ name, owner: ownerUserId }, call.signal)) ?? {};
        if (takenBy !== null) throw organizationNameTaken({ field: "name", name, organizationId: takenBy }, call);
        if (ownerUserId && !ownerExists) throw refuse.notFound("user", ownerUserId);
        const id = ids();
        const at = first(id, id, clock());
        const ownNames = ownLoginNames ? { ownLoginNames } : {};
        const created = factOf("organization", at, { case: "created", value: { name, ...ownNames } });
        const { added, endedCredentials } = await ownerOf(ownerUserId, at, call);
        return log.append(call, [created, ...added], {
          organizationId: id,
          details: detailsAfter(at),
          endedCredentials,
        });
      },

      async getOrganization({ organizationId }, call) {
        const row = await organizationById({ id: organizationOf(call) }, call.signal);
        if (!row) throw refuse.notFound("organization", organizationId);
        return { organization: organization(row) };
      },

      async listOrganizations(request, call) {
        const page = pageOf(ListOrganizationsRequestSchema, request, 2);
        const reach = reachOf(call);
        if (request.filter?.metadata) refuseLimited(callerOf(call), "org.metadata.read");
        const query = { ...queryByName(request, "folded(o.name)", OrganizationState), entry: request.filter?.metadata };
        const list = organizationList(sql, query, reach.whole ? undefined : reach.organizations);
        const rows = await readNamed<OrganizationRow>(sql, [list], page);
        const { rows: answered, nextPageToken } = cut(rows, page, ({ key, id }) => [key, id]);
        return { organizations: answered.map(organization), nextPageToken };
      },
    } satisfies Partial<ServiceImpl<typeof OrganizationService>>,
  );
};

function newOwner({ ids, ...deps }: Deps) {
  const outgrown = outgrownBy(deps);
  return async (userId: string, { stream: organizationId, time }: At, call: Call) => {
    if (!userId) return { added: [], endedCredentials: 0 };
    const roles = ["ORG_OWNER"];
    const target = { scope: "organization", id: organizationId, organization: organizationId, roles } as const;
    const { count, secret } = await outgrown({ userId, target }, call);
    const value = { userId, roles, organizationId };
    const at = first(organizationId, ids(), time);
    return { added: [factOf("member", at, { case: "added", value }, secret)], endedCredentials: count };
  };
}

export const organizationRules = [
  pageRule(ListOrganizationsRequestSchema, 2),
  namedRule(ListOrganizationsRequestSchema, ["name", "namePrefix"]),
  ...organizationUpdateRules,
  ...organizationMetadataRules,
  ...brandingRules,
];

const insertedRow = organizationInserted(["active", "requiresAcceptance"], {
  ...inFact("name"),
  ownLoginNames: "coalesce((f.payload->>'ownLoginNames')::boolean, false)",
  ...historyInFact,
});

export const organizationFolds = {
  ...organizationStateFolds,
  ...brandingFolds,
  ...organizationMetadataFolds,
  created: {
    views: [
      `${insertedRow}
       from $facts f`,
    ],
  },
  changed: {
    views: [
      `update organizations o set name = f.payload->>'name', version = f.version, changed = f.time,
         own_login_names = coalesce((f.payload->>'ownLoginNames')::boolean, o.own_login_names),
         requires_acceptance = coalesce((f.payload->>'requiresAcceptance')::boolean, o.requires_acceptance)
       from $facts f where o.organization_id = f.stream`,
    ],
  },
} satisfies NounFolds<"organization">;

/** The instance's row is written before its first fact, so its folds write nothing. */
export const instanceFolds = { created: {} } satisfies NounFolds<"instance">;

const columnsIn = (alias: string, indent: number) =>
  selected(alias, Object.keys(organizationRow), { lines: ["requiresAcceptance"], indent });

const organizationRead = (sql: Sql) =>
  loadOne<{ id: string }, OrganizationRow>(sql, {
    asked: "id text",
    select: `select n, organization_id as id, organization_id as owner, ${columnsIn("", 15)}
             from asked join organizations on organization_id = asked.id and not deleted`,
  });

export const organization = ({ id, name, active, ownLoginNames, requiresAcceptance, ...row }: OrganizationRow) => ({
  id,
  details: details({ id, ...row }),
  name,
  state: active ? OrganizationState.ACTIVE : OrganizationState.INACTIVE,
  ownLoginNames,
  requiresAcceptance,
});

/** Lists all organizations, or the given ones. */
function organizationList(sql: Sql, query: NamedQuery, only: readonly string[] | undefined): NamedList {
  const some = only && [...only];
  return {
    texts: query.texts,
    words: query.words,
    order: query.order,
    active: query.active,
    entry: query.entry,
    entries: some
      ? sql`(select organization_id as id, key, value from organization_metadata where organization_id = any(${some}) offset 0) m`
      : sql`(select organization_id as id, key, value from organization_metadata) m`,
    columns: `o.organization_id as owner, ${columnsIn("o", 6)}`,
    table: sql`organizations o`,
    few: some && sql`(select * from organizations where organization_id = any(${some}) offset 0) o`,
    alias: "o",
    id: "o.organization_id",
    name: "o.name",
    scope: undefined,
    // The condition of the index by name.
    served: sql`not o.deleted`,
    terms: some
      ? sql`(select * from terms where noun = 'organization' and scope = '' and object_id = any(${some}) offset 0) w`
      : sql`(select * from terms where noun = 'organization' and scope = '') w`,
    ownWords: "o.words",
  };
}
