import type { ServiceImpl } from "@connectrpc/connect";
import type { UserGrantService } from "../../../gen/postern/v1/user_grant_pb.ts";
import { type Call, type Deps, organizationOf } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { details, detailsAfter, factOf, next } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import type { No } from "../writing/batch_refusal.ts";
import { type Acceptance, deciderIn, deciderOfUser, unaccepted } from "../writing/offer.ts";
import { refusedRoles } from "./add_user_grant.ts";
import { userGrantColumns as columns, type UserGrantRow } from "./user_grant_row.ts";

const mostRoles = 1000;

/** Changes some roles of a user grant without touching the others, which may be changing at the same time. */
export const userGrantRoles = ({ log, sql, clock }: Deps) => {
  const grantToChange = grantAndRolesRead(sql);

  return {
    async addUserGrantRoles({ userGrantId, roleKeys }, call) {
      const row = await grantOf(userGrantId, roleKeys, call);
      const no =
        refusedRoles({ ...row, projectGrantId: row.projectGrantId ?? "", roleKeys }, row.known) ??
        refusedMore(row, roleKeys, call);
      if (no) throw refuse.because(no.reason, no);
      const all = [...new Set([...row.roleKeys, ...roleKeys])];
      if (all.length > mostRoles) throw refuse.invalid([tooMany]);
      return replaced(row, all, call);
    },

    async removeUserGrantRoles({ userGrantId, roleKeys }, call) {
      const row = await grantOf(userGrantId, [], call);
      const removed = new Set(roleKeys);
      const rest = row.roleKeys.filter((key) => !removed.has(key));
      return replaced(row, rest, call);
    },
  } satisfies Partial<ServiceImpl<typeof UserGrantService>>;

  async function grantOf(id: string, roleKeys: readonly string[], call: Call): Promise<ChangingGrant> {
    const row = await grantToChange({ owner: organizationOf(call), id, role_keys: roleKeys }, call.signal);
    if (!row) throw refuse.notFound("user_grant", id);
    return row;
  }

  /** Records the new roles. Roles were only added or only removed, so an equal number means that nothing changed. */
  function replaced(row: ChangingGrant, roleKeys: string[], call: Call) {
    if (roleKeys.length === row.roleKeys.length) return log.append(call, [], { details: details(row) });
    const at = next(row, clock());
    const changed = factOf("userGrant", at, { case: "changed", value: { roleKeys } });
    return log.append(call, [changed], { details: detailsAfter(at) });
  }
};

const tooMany: Violation = {
  field: "roleKeys",
  text: "GRANT_ROLES_MANY",
  params: { most: mostRoles },
  reason: "GRANT_ROLES_MANY",
};

type ChangingGrant = UserGrantRow & Pick<Acceptance, "decidedBy"> & { readonly known: readonly string[] };

/** Finds why a grant cannot have roles that its user's organization has not accepted. */
export function refusedMore(row: ChangingGrant, roleKeys: readonly string[], call: Call): No | undefined {
  const accepted = new Set(row.roleKeys);
  if (roleKeys.every((key) => accepted.has(key))) return undefined;
  return deciderIn(row, call) === undefined ? undefined : unaccepted("roleKeys");
}

/** Reads a grant, and those of the requested roles that it can hold. */
export const grantAndRolesRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string; role_keys: readonly string[] }, ChangingGrant>(sql, {
    asked: "owner text, id text, role_keys text[]",
    select: `select n, ${columns},
      case when g.project_grant_id is null then array(
        select r.role_key from project_roles r
        where r.project_id = g.project_id and r.role_key = any(asked.role_keys))
      else array(
        select r.role_key from project_grant_roles r
        where r.project_grant_id = g.project_grant_id and r.role_key = any(asked.role_keys))
      end as known,
      ${deciderOfUser("g.user_id", "g.owner")} as "decidedBy"
      from asked join user_grants g on g.owner = asked.owner and g.user_grant_id = asked.id`,
  });
