import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { openClient } from "../test/fixture/database_client.ts";
import { bulk, loading } from "./bulk.ts";
import { type DatabaseServer, startDatabaseServer } from "./server.ts";
import { startSystem } from "./system_under_test.ts";
import { post } from "./users.ts";

/** The content of a database: users, and for each of them grants and changes of grants, each grant in a project of its own; and rare ones. */
export type Filling = {
  readonly name: string;
  readonly users: number;
  readonly grantsEach: number;
  readonly changesEach: number;
  readonly rare?: number;
  /** The name of an organization of their own; by default they are in the administrator's. */
  readonly organization?: string;
};

/** Five grants for each user, and ten events; one rare user of each kind among sixteen. */
export const fillingOf = (users: number): Filling => ({
  ...{ name: `users_${users}`, users, grantsEach: 5, changesEach: 4, rare: Math.floor(users / 16) },
});

/** Fills databases where that was not done before. */
export async function loaded(folder: string, fillings: readonly Filling[]): Promise<void> {
  await using databases = await startDatabaseServer({ folder, settings: loading });
  for (const filling of fillings) if (!(await isLoaded(databases, filling))) await load(databases, filling);
}

async function isLoaded(databases: DatabaseServer, { name }: Filling): Promise<boolean> {
  await using sql = openClient(await databases.database(name));
  const [row] = await sql.client`select obj_description(to_regclass('events')) is not null as loaded`;
  return row?.loaded === true;
}

async function load(databases: DatabaseServer, filling: Filling): Promise<void> {
  const { name, users, grantsEach, changesEach, rare = 0, organization } = filling;
  // An interrupted load starts again from nothing.
  await databases.drop(name);
  const url = await databases.database(name);
  const owner = await madeIn(databases, name, organization);
  const began = performance.now();
  const each = { grants: users * grantsEach, changes: users * changesEach };
  await bulk(url, owner, { users, projects: grantsEach, ...each, rare });
  await using sql = openClient(url);
  await sql.client`comment on table events is 'loaded'`;
  const seconds = Math.round((performance.now() - began) / 1000);
  process.stdout.write(`${users} users with ${grantsEach} grants each: loaded in ${seconds} s\n`);
}

/** Starts the service once, to make the tables and the organization; returns its id. */
async function madeIn(databases: DatabaseServer, name: string, organization: string | undefined): Promise<string> {
  await using system = await startSystem(databases, name);
  const { server, token, organizationId } = system;
  if (organization === undefined) return organizationId;
  const made = await post(server.url, "/v1/organizations", { body: { name: organization }, token });
  return String(made.organizationId);
}

/** Reads the files of all databases once, so that those that fit are in memory, whenever they were loaded. */
export async function warmFiles(folder: string): Promise<void> {
  const names = await readdir(join(folder, "data"), { recursive: true });
  for (const name of names.filter((one) => /\/base\/\d+\/\d+(\.\d+)?$/.test(one)))
    for await (const _ of createReadStream(join(folder, "data", name), { highWaterMark: 1024 * 1024 }));
}
