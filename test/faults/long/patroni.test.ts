import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { ask, until } from "../../postgres/embedded/holder.ts";
import { serve } from "../../postgres/serving.ts";
import { type Load, startLoad } from "../load.ts";
import { found } from "../programs.ts";
import { type Cluster, type Member, startPatroni } from "./patroni.ts";

const rounds = 5;
const writers = 16;
// Of the time that Patroni takes nothing is ours.
const oursMs = 2_000;

const urlOf = ({ address }: Member) => `postgresql://postern@${address}/postgres`;

/** When the cluster takes writes again, asked of its members directly. */
async function directlyBack({ members }: Cluster, killed: Member): Promise<number> {
  const others = members.filter((member) => member !== killed);
  const write = (member: Member) => ask(urlOf(member), "insert into probe values (1)").then(() => performance.now());
  return until(() => Promise.any(others.map(write)), 120_000);
}

/** When a write of the load was acknowledged again. */
async function backThroughUs({ acknowledged }: Load): Promise<number> {
  // Answers that were under way arrive within this time.
  await pause(500);
  const before = acknowledged.length;
  return until(async () => acknowledged.length > before && performance.now(), 120_000);
}

describe.skipIf(!found("patroni"))("Patroni with two synchronous standbys", () => {
  test("loses its primary five times under load: nothing acknowledged is lost, and writes are back as soon as it is", {
    timeout: 900_000,
  }, async () => {
    await using cluster = await startPatroni();
    await ask(urlOf(await cluster.primary()), "create table probe (n int)");
    await using postern = await serve(cluster.url, { DATABASE_CONNECTIONS: "16" });
    const made = Array.from({ length: 25 * writers }, (_, number) =>
      postern.admin.post("/v1/users/machine", { username: `writer-${number}`, name: "Writer" }),
    );
    const userIds = (await Promise.all(made)).map(({ body }) => String(body.userId));
    const load = startLoad({ url: postern.url, token: postern.admin.token ?? "", writers, userIds });
    const late: number[] = [];
    for (let round = 1; round <= rounds; round++) {
      await load.more(500);
      const primary = await cluster.primary();
      await primary.kill();
      const killedAt = performance.now();
      const [direct, ours] = await Promise.all([directlyBack(cluster, primary), backThroughUs(load)]);
      late.push(ours - direct);
      console.log(
        `round ${round}: ${primary.name} killed, written directly after ${Math.round(direct - killedAt)} ms,`,
        `through the service after ${Math.round(ours - killedAt)} ms, ${load.acknowledged.length} acknowledged so far`,
      );
      await load.more(500);
      primary.start();
      await cluster.whole();
    }
    await load.stop();
    console.log(`${load.acknowledged.length} acknowledged, ${load.failures.length} failures before a retry`);
    const stored = await ask<{ id: string }>(
      urlOf(await cluster.primary()),
      `select token_id as id from access_tokens where user_id in (${userIds.map((id) => `'${id}'`).join()})`,
    );
    expect(stored.map(({ id }) => id).sort()).toEqual([...load.acknowledged].sort());
    expect(postern.child.exitCode).toBeNull();
    expect(late.filter((ms) => ms > oursMs)).toEqual([]);
  });
});
