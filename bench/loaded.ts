import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { makeBed } from "./bed.ts";
import { bulk, loading } from "./bulk.ts";
import { type Ground, open, startGround } from "./ground.ts";

/** The name of the database with so many users. */
export const nameOf = (users: number): string => `users_${users}`;

/** How many projects have grants from the start. */
export const grantedProjects = 5;

/** Loads a database of each size where there is none: five grants for each user, and ten events, more or less. */
export async function loaded(folder: string, sizes: readonly number[]): Promise<void> {
  await using ground = await startGround({ folder, settings: loading });
  for (const users of sizes) await load(ground, users);
}

async function load(ground: Ground, users: number): Promise<void> {
  if (await isLoaded(ground, users)) return;
  // What a load left that was cut off is not gone on with.
  await ground.drop(nameOf(users));
  const owner = await madeBy(ground, users);
  const began = performance.now();
  const size = { users, projects: grantedProjects, grants: users * grantedProjects, changes: users * 4 };
  const url = await ground.database(nameOf(users));
  await bulk(url, owner, size);
  await using sql = open(url);
  await sql.client`comment on table events is 'loaded'`;
  const seconds = Math.round((performance.now() - began) / 1000);
  process.stdout.write(`${users} users, ${size.grants} grants and their events: loaded in ${seconds} s\n`);
}

async function isLoaded(ground: Ground, users: number): Promise<boolean> {
  await using sql = open(await ground.database(nameOf(users)));
  const [row] = await sql.client`select obj_description(to_regclass('events')) is not null as loaded`;
  return row?.loaded === true;
}

/** Starts the service once, for the tables, and answers the organization. */
async function madeBy(ground: Ground, users: number): Promise<string> {
  await using bed = await makeBed(ground, nameOf(users));
  return bed.organizationId;
}

/** Reads the files of all databases once, so that those that fit are in memory, whenever they were loaded. */
export async function warmFiles(folder: string): Promise<void> {
  const names = await readdir(join(folder, "data"), { recursive: true });
  for (const name of names.filter((one) => /\/base\/\d+\/\d+(\.\d+)?$/.test(one)))
    for await (const _ of createReadStream(join(folder, "data", name), { highWaterMark: 1024 * 1024 }));
}
