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
  readonly grants: number;
  readonly changes: number;
};

/** The role that each project made in bulk has. */
export const role = "reader";

type Facts = {
  readonly type: string;
  readonly stream: string;
  readonly version: number;
  readonly payload: string;
  readonly count: number;
};

/** Loads users, projects with a role, and grants, as the log itself writes them: the very statement, thousands at a time. */
export async function seed(sql: Sql, owner: string, { users, projects, grants, changes }: Size): Promise<void> {
  const roles = `jsonb_build_array('${role}')`;
  const granted = `'userId', ${idSql("user", `n % ${users}`)}, 'projectId', ${idSql("project", `n / ${users}`)}`;
  const named = (what: string) => `jsonb_build_object('name', '${what} ' || n)`;
  const person = `jsonb_build_object('username', 'Load' || n, 'loginName', 'load' || n,
    'givenName', 'Ada', 'familyName', 'Byron', 'email', 'load' || n || '@example.com')`;
  const all: Facts[] = [
    { type: "user.human_created", stream: idSql("user", "n"), version: 1, payload: person, count: users },
    { type: "project.created", stream: idSql("project", "n"), version: 1, payload: named("Load"), count: projects },
    {
      ...{ type: "project.role_added", stream: idSql("project", "n"), version: 2, count: projects },
      payload: `jsonb_build_object('key', '${role}', 'displayName', '${role}')`,
    },
    {
      ...{ type: "user_grant.added", stream: idSql("grant", "n"), version: 1, count: grants },
      payload: `jsonb_build_object(${granted}, 'roleKeys', ${roles})`,
    },
    {
      ...{ type: "user_grant.changed", stream: idSql("grant", "n"), version: 2, count: changes },
      payload: `jsonb_build_object('roleKeys', ${roles})`,
    },
  ];
  for (const facts of all) await append(sql, owner, facts);
  await sql.unsafe("analyze");
}

const batch = 10_000;

async function append(sql: Sql, owner: string, { type, stream, version, payload, count }: Facts): Promise<void> {
  const statement = statementFor([type], folds);
  for (let from = 0; from < count; from += batch) {
    const to = Math.min(from + batch, count) - 1;
    await sql.unsafe(`do $bench$ begin execute $log$${statement}$log$ using (
      select jsonb_agg(jsonb_build_object('n', n, 'owner', '${owner}', 'stream', ${stream}, 'version', ${version},
        'type', '${type}', 'payload', ${payload}, 'request_id', 'load', 'time', now()))::text
      from generate_series(${from}, ${to}) n), '[]'; end $bench$`);
  }
}
