import { expect, vi } from "vitest";
import type { Client, Postern } from "../harness.ts";
import { ask } from "../postgres/embedded/holder.ts";
import { type Running, running } from "../program/command.ts";
import { unique } from "./log_of.ts";

export const wait = { timeout: 60_000, interval: 100 };

export type Line = { readonly position: string; readonly objectId: string };

export const seenBy = (follower: Running) => follower.lines() as readonly Line[];

/** Creates projects, also while the database is not there yet; answers their ids. */
export async function write({ admin }: Pick<Followed, "admin">, count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const { status, body } = await admin.post("/v1/projects", { name: unique("Project") });
    if (status === 200) ids.push(body.projectId);
    else expect([500, 503, 504]).toContain(status);
  }
  return ids;
}

/** A stream of created projects: what it has sent so far, and its last line. */
export async function streamOf({ url, token }: Followed, after: string) {
  const response = await fetch(`${url}/v1/events:watch?types=project.created&after=${after}`, {
    headers: { authorization: `Bearer ${token}`, accept: "application/x-ndjson" },
  });
  let text = "";
  const ended = (async () => {
    for await (const piece of (response.body ?? expect.unreachable()).pipeThrough(new TextDecoderStream()))
      text += piece;
    return JSON.parse(text.trim().split("\n").at(-1) ?? "");
  })();
  return { sent: () => text, ended };
}

/** A node, and who owns its instance. */
export type Followed = { readonly url: string; readonly admin: Client; readonly token: string };

/** What follows a node that runs in this process. */
export const nodeOf = ({ url, admin, config }: Postern): Followed => ({ url, admin, token: config.adminToken ?? "" });

/** `postern watch`, which goes on by itself. */
export const follow = ({ url, token }: Followed, after = "0") =>
  running(["watch", "--url", url, "--types", "project.created", "--after", after], { POSTERN_ADMIN_TOKEN: token });

/** What the log of a database has now, in its order. */
export const logOf = async (url: string): Promise<string[]> =>
  (
    await ask<{ stream: string }>(
      url,
      `select stream from event_numbers join events using (epoch, xid, position) where type = 'project.created' order by number`,
    )
  ).map(({ stream }) => stream);

/** A follower has every event of the log that there is, and saw those after the loss in their order. */
export async function hasAll(follower: Running, url: string, added: readonly string[]): Promise<void> {
  await vi.waitFor(async () => {
    const seen = seenBy(follower).map(({ objectId }) => objectId);
    const log = await logOf(url);
    expect(log.filter((id) => !seen.includes(id))).toEqual([]);
    expect(seen.slice(seen.lastIndexOf(added[0] ?? ""))).toEqual(added);
  }, wait);
}
