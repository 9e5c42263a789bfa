import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { grantShutIn, isHidden, mayUse, organizationIsThere, roleIsThere } from "../../services/callers/in_force.ts";
import { type Client, type ClientRow, clientColumn, clientOf } from "../request/client.ts";
import { mayActFor } from "../tokens/subject.ts";

/** A user grant in the application's project. */
export type GrantFound = {
  readonly id: string;
  readonly owner: string;
  readonly projectGrantId: string | null;
  readonly active: boolean;
  /** Another reason why it has no effect. */
  readonly shutIn: "project" | "organization" | "user" | "time" | "";
  readonly ends: string | null;
  readonly roleKeys: readonly string[];
};

/** An application, and a user's grants and consent there; none of them if the user does not exist. */
export type Explained = {
  readonly client: Client;
  readonly isApi: boolean;
  readonly isApplicationActive: boolean;
  readonly isProjectActive: boolean;
  readonly isOrganizationActive: boolean;
  readonly grantRequired: boolean;
  readonly userOwner: string | null;
  /** The grant of the project to the user's organization. */
  readonly projectGrantId: string | null;
  /** Whether the user may use the application, and sign in for the organization asked for. */
  readonly permitted: boolean;
  readonly reachable: boolean;
  /** The scopes that the user has allowed the application so far; null without a consent. */
  readonly allowed: readonly string[] | null;
  readonly grants: readonly GrantFound[];
};

type Key = Readonly<Record<"owner" | "project" | "app" | "user" | "now", string>> & {
  readonly organization: string | null;
};

const mostGrants = 100;

const grantsColumn = `coalesce((
      select json_agg(json_build_object('id', g.user_grant_id, 'owner', g.owner, 'projectGrantId', g.project_grant_id,
        'active', g.active, 'shutIn', g.shut_in, 'ends', g.expiration_date, 'roleKeys', coalesce((
          select json_agg(r.role_key order by r.role_key) from user_grant_roles r
          where r.user_grant_id = g.user_grant_id and ${roleIsThere}), '[]')) order by g.user_grant_id)
      from (
        select g.*, ${grantShutIn} as shut_in from user_grants g
        where g.user_id = asked."user" and g.project_id = p.project_id and not ${isHidden("g.user_id")}
        order by g.user_grant_id limit ${mostGrants}) g), '[]')`;

/** Makes the read of an application and of a user's access to it: one statement, which costs the same if there is no such user. */
export function explainedRead(sql: Sql) {
  const read = loadOne<Key, Row>(sql, {
    asked: `owner text, project text, app text, "user" text, organization text, now timestamptz`,
    select: `select n, ${clientColumn}, a.is_api as "isApi", a.active as "isApplicationActive", p.active as "isProjectActive",
      h.active as "isOrganizationActive", p.grant_required as "grantRequired", u.owner as "userOwner",
      (select d.project_grant_id from project_grants d
       where d.project_id = p.project_id and d.granted_organization_id = u.owner) as "projectGrantId",
      u.user_id is not null and ${mayUse} as permitted,
      u.user_id is not null and ${mayActFor("coalesce(asked.organization, u.owner)")} as reachable,
      (select c.scopes from consents c where c.user_id = u.user_id and c.app_id = a.app_id) as allowed,
      ${grantsColumn} as grants
    from asked join projects p on p.owner = asked.owner and p.project_id = asked.project
    join applications a on a.app_id = asked.app and (a.owner = p.owner and a.project_id = p.project_id) is true
    join organizations h on h.organization_id = a.owner
    left join users u on u.user_id = asked."user" and ${organizationIsThere("u.owner")}`,
  });
  return async (key: Key, signal: AbortSignal): Promise<Explained | undefined> => {
    const row = await read(key, signal);
    return row && { ...row, client: clientOf(row.client) };
  };
}

type Row = Omit<Explained, "client"> & { readonly client: ClientRow };
