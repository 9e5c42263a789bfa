import { statementFor } from "../src/events/fold.ts";
import { folds } from "../src/house.ts";
import type { Sql } from "../src/postgres/connect.ts";

/** The kinds of objects that are made in bulk. */
export type Kind = "user" | "project" | "grant";

const letters: Record<Kind, string> = { user: "u", project: "p", grant: "g" };

/** The identifier of the object with this number; it sorts before those that the service makes. */
export const idOf = (kind: Kind, n: number): string => `000${letters[kind]}${String(n).padStart(20, "0")}`;

/** The same in SQL, of an expression that yields the number. */
export const idSql = (kind: Kind, n: string): string => `'000${letters[kind]}' || lpad((${n})::text, 20, '0')`;

/** How much there is. */
export type Size = {
  readonly users: number;
  readonly projects: number;
  /** The number of the first project, when there are some. */
  readonly firstProject?: number;
  readonly grants: number;
  readonly changes: number;
};

/** The role that each project made in bulk has. */
export const role = "reader";

/** Loads users, projects with a role, and grants, as the log itself writes them: the very folds, thousands of facts at a time. */
export async function seed(sql: Sql, owner: string, size: Size): Promise<void> {
  await append([sql], owner, size);
  await sql.unsafe("analyze");
}

/** The same, over several connections at once, and without the analyze. */
export async function append(sqls: readonly Sql[], owner: string, size: Size): Promise<void> {
  for (const facts of factsOf(size))
    await appendAll(sqls, statementFor([facts.type], folds, given(owner, facts)), facts);
}

type Facts = {
  readonly type: string;
  readonly stream: string;
  readonly version: number;
  readonly payload: string;
  readonly first: number;
  readonly count: number;
};

function factsOf({ users, projects, firstProject = 0, grants, changes }: Size): Facts[] {
  const roles = `jsonb_build_array('${role}')`;
  const granted = `'userId', ${idSql("user", `n % ${users}`)}, 'projectId', ${idSql("project", `n / ${users}`)}`;
  const person = `jsonb_build_object('username', 'Load' || n, 'loginName', 'load' || n,
    'givenName', 'Ada', 'familyName', 'Byron', 'email', 'load' || n || '@example.com')`;
  const project = { stream: idSql("project", "n"), first: firstProject, count: projects };
  const grant = { stream: idSql("grant", "n"), first: 0 };
  return [
    { type: "user.human_created", stream: idSql("user", "n"), version: 1, payload: person, first: 0, count: users },
    { ...project, type: "project.created", version: 1, payload: `jsonb_build_object('name', 'Load ' || n)` },
    {
      ...{ ...project, type: "project.role_added", version: 2 },
      payload: `jsonb_build_object('key', '${role}', 'displayName', '${role}')`,
    },
    {
      ...{ ...grant, type: "user_grant.added", version: 1, count: grants },
      payload: `jsonb_build_object(${granted}, 'roleKeys', ${roles})`,
    },
    {
      ...{ ...grant, type: "user_grant.changed", version: 2, count: changes },
      payload: `jsonb_build_object('roleKeys', ${roles})`,
    },
  ];
}

/** The facts with numbers from one to another, in the columns in which the log takes them. */
const given = (owner: string, { type, stream, version, payload }: Facts): string => `
  select n, '${owner}' as owner, ${stream} as stream, ${version}::bigint as version, '${type}' as type,
    ${payload} as payload, null::jsonb as secret, null::text as actor, 'load' as request_id, now() as time
  from generate_series(($1::text::jsonb->>0)::integer, ($1::text::jsonb->>1)::integer) n`;

const batch = 10_000;

async function appendAll(sqls: readonly Sql[], statement: string, { first, count }: Facts): Promise<void> {
  let next = first;
  const end = first + count;
  const one = async (sql: Sql) => {
    while (next < end) {
      const from = next;
      next += batch;
      const range = JSON.stringify([from, Math.min(next, end) - 1]);
      await sql.unsafe(statement, [range, "[]"], { prepare: true });
    }
  };
  await Promise.all(sqls.map(one));
}
