import type { ServiceImpl } from "@connectrpc/connect";
import { type NameService, ObjectKind } from "../../../gen/postern/v1/name_pb.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../../deps.ts";
import { type Holding, heldIn } from "../../guards/held_permissions.ts";
import type { Permission } from "../../guards/permissions.ts";
import type { Fragment, Sql } from "../../postgres/pool/connect.ts";
import { organizationIsThere } from "../callers/in_force.ts";

export const nameService = ({ sql }: Pick<Deps, "sql">) =>
  ({
    async getNames({ ids }, call) {
      const rows = await namesOf(sql, ids, readerOf(call));
      return { names: rows.map(objectName) };
    },
  }) satisfies ServiceImpl<typeof NameService>;

/** The reader of names, and the organization. */
type Reader = {
  readonly organization: string;
  /** The user whose own name is readable, and that user's organization. */
  readonly own: { readonly userId: string; readonly organization: string } | undefined;
  readonly held: (...permissions: Permission[]) => Holding;
};

function readerOf(call: Call): Reader {
  const { userId, organization, isLimited } = callerOf(call);
  const workedIn = organizationOf(call);
  return {
    organization: workedIn,
    own: isLimited ? undefined : { userId, organization },
    held: (...permissions) => heldIn(callerOf(call), workedIn, permissions),
  };
}

/** The name of an object, as statements read it. */
export type NameRow = {
  readonly id: string;
  readonly kind: ObjectKind;
  readonly name: string;
  readonly loginName: string | null;
  readonly owner: string;
};

export const objectName = ({ loginName, owner, ...row }: NameRow) => ({
  ...row,
  ...(loginName === null ? {} : { loginName }),
  organizationId: owner,
});

// Each id is looked up once in each table, whether or not it exists there; of another organization's object, at most the row is read, and
// left out.
/** Reads the names of the objects that exist and that the reader may read, each by the primary key of its table. */
async function namesOf(sql: Sql, ids: readonly string[], reader: Reader): Promise<readonly NameRow[]> {
  const readable = [organizations, users, projects, projectGrants, applications].flatMap((part) => part(sql, reader));
  const all = readable.reduce<Fragment | undefined>(
    (some, one) => (some ? sql`${some} union all ${one}` : one),
    undefined,
  );
  if (!all) return [];
  return sql<NameRow[]>`
    select i.id, found.kind, found.name, found."loginName", found.owner
    from unnest(${[...ids]}::text[]) with ordinality i (id, n) cross join lateral (${all}) found order by i.n`;
}

type Part = (sql: Sql, reader: Reader) => readonly Fragment[];

const columns = (sql: Sql, kind: ObjectKind, rest: string): Fragment => sql.unsafe(`select ${kind} as kind, ${rest}`);

const users: Part = (sql, { organization, own, held }) => {
  const found = columns(
    ...[sql, ObjectKind.USER],
    `user_name(u.name, u.given_name, u.family_name) as name, u.username as "loginName", u.owner from users u`,
  );
  if (held("user.read").isEverywhere)
    return [sql`${found} where u.user_id = i.id and ${sql.unsafe(organizationIsThere("u.owner"))}`];
  const others = held("user.read", "user.grant.read", "member.read").isAnywhere ? organization : null;
  if (others === null && !own) return [];
  const owner = own
    ? sql`case when i.id = ${own.userId} then ${own.organization} else ${others}::text end`
    : sql`${others}`;
  return [sql`${found} where u.owner = ${owner} and u.user_id = i.id`];
};

const organizations: Part = (sql, { organization, held }) => {
  const found = sql`${columns(sql, ObjectKind.ORGANIZATION, `o.name, null as "loginName", o.organization_id as owner`)}
    from organizations o where o.organization_id = i.id and not o.deleted`;
  if (held("org.read").isEverywhere) return [found];
  const any = held("org.read", "user.read", "user.grant.read", "member.read", "project.read", "app.read");
  if (!any.isAnywhere) return [];
  const given = grantedTo(sql, organization, held("project.read"));
  return [
    sql`${found} and (i.id = ${organization} or exists (
      select from project_grants g where g.owner = i.id and ${given} offset 0))`,
  ];
};

/** The condition that the project grant `g` is readable to the organization that received it. */
const grantedTo = (sql: Sql, organization: string, { isWhole, projectGrants }: Holding): Fragment =>
  sql`g.granted_organization_id = ${organization}
    and ${isWhole ? sql`true` : sql`g.project_grant_id = any(${[...projectGrants]}::text[])`}`;

const projects: Part = (sql, { organization, held }) => {
  const found = columns(sql, ObjectKind.PROJECT, `p.name, null as "loginName", p.owner from projects p`);
  const reach = held("project.read");
  if (reach.isEverywhere)
    return [sql`${found} where p.project_id = i.id and ${sql.unsafe(organizationIsThere("p.owner"))}`];
  if (!reach.isAnywhere) return [];
  return [
    sql`${found} where p.owner = ${organization} and p.project_id = i.id and ${ofProjects(sql, "p", reach)}`,
    sql`${found} join project_grants g on g.project_id = p.project_id
      where g.project_id = i.id and ${grantedTo(sql, organization, reach)} and ${sql.unsafe(organizationIsThere("p.owner"))}`,
  ];
};

/** The condition that an object belongs to a project within reach. */
const ofProjects = (sql: Sql, alias: string, { isWhole, projects: some }: Holding): Fragment =>
  isWhole ? sql`true` : sql`${sql.unsafe(`${alias}.project_id`)} = any(${[...some]}::text[])`;

const projectGrants: Part = (sql, { organization, held }) => {
  const found = sql`${columns(sql, ObjectKind.PROJECT_GRANT, `p.name, null as "loginName", g.owner from project_grants g`)}
    join projects p on p.project_id = g.project_id`;
  const reach = held("project.read");
  if (reach.isEverywhere)
    return [sql`${found} where g.project_grant_id = i.id and ${sql.unsafe(organizationIsThere("g.owner"))}`];
  if (!reach.isAnywhere) return [];
  return [
    sql`${found} where g.owner = ${organization} and g.project_grant_id = i.id and ${ofProjects(sql, "g", reach)}`,
    sql`${found} where g.project_grant_id = i.id and ${grantedTo(sql, organization, reach)}
      and ${sql.unsafe(organizationIsThere("g.owner"))}`,
  ];
};

const applications: Part = (sql, { organization, held }) => {
  const found = columns(
    sql,
    ObjectKind.APPLICATION,
    `a.name, null as "loginName", a.owner from applications a join projects p on p.project_id = a.project_id`,
  );
  const reach = held("app.read");
  if (reach.isEverywhere)
    return [sql`${found} where a.app_id = i.id and ${sql.unsafe(organizationIsThere("a.owner"))}`];
  if (!reach.isAnywhere) return [];
  return [sql`${found} where a.owner = ${organization} and a.app_id = i.id and ${ofProjects(sql, "a", reach)}`];
};
