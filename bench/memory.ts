import { performance } from "node:perf_hooks";
import { makeBed } from "./bed.ts";
import { serve, startGround } from "./ground.ts";
import { generate } from "./load/generator.ts";
import { type Row, row } from "./report.ts";
import { round } from "./stats.ts";

const megabyte = 1024 * 1024;

/** Memory before and after so many calls, and the time from the start to the first answer. */
export async function memory(calls: number): Promise<Row[]> {
  await using ground = await startGround();
  const began = performance.now();
  await using bed = await makeBed(ground, "memory");
  await answered(bed.server.url);
  const cold = performance.now() - began;
  const warm = await warmStart(bed.env);
  const idle = await bed.server.usage();
  // The heap takes its shape in the first calls.
  await send(bed, Math.ceil(calls / 10));
  const before = await bed.server.usage();
  const sent = await send(bed, calls);
  const after = await bed.server.usage();
  return [
    row("start to first answer", "cold, tables to make", { ms: Math.round(cold) }),
    row("start to first answer", "warm", { ms: Math.round(warm) }),
    row("resident memory", "idle", { MB: round(idle.rss / megabyte) }),
    row("resident memory", "before", { MB: round(before.rss / megabyte) }),
    row("resident memory", "after", {
      ...{ MB: round(after.rss / megabyte), "growth %": round((after.rss / before.rss - 1) * 100) },
      ...{ calls: sent },
    }),
  ];
}

async function warmStart(env: Readonly<Record<string, string>>): Promise<number> {
  const began = performance.now();
  await using server = await serve("postern", { env });
  await answered(server.url);
  return performance.now() - began;
}

async function answered(url: string): Promise<void> {
  const answer = await fetch(`${url}/healthz`);
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
}

async function send({ server, token }: Awaited<ReturnType<typeof makeBed>>, calls: number): Promise<number> {
  let sent = 0;
  while (sent < calls) {
    const given = { url: server.url, protocol: "grpc", callers: 32, seconds: 5, token, from: sent } as const;
    sent += (await generate({ ...given, recipe: { kind: "get_me" } })).calls;
  }
  return sent;
}
