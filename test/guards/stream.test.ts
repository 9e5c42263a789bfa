import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { machine, organization, startPostern } from "../harness.ts";

test("a user has so many streams open at once, and others as many", async () => {
  await using postern = await startPostern({ streamsPerCallerMax: 2 });
  const { userId, client } = await machine(postern);
  await postern.admin.post("/v1/members", { userId, roles: ["ORG_VIEWER"] });
  const opened = async (token: string | undefined) => {
    const connection = new AbortController();
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`${postern.url}/v1/events:watch`, { headers, signal: connection.signal });
    const reader = response.body?.getReader();
    // Several events may come at once, and one in several parts.
    const read = async () => Buffer.from((await reader?.read())?.value ?? "").toString();
    const hear = async (wanted: string) => {
      let heard = "";
      while (!heard.includes(wanted)) {
        const part = await read();
        if (part === "") throw new Error(`the stream ended after ${heard}`);
        heard += part;
      }
    };
    return { status: response.status, read, hear, close: () => connection.abort() };
  };
  const [one, two] = [await opened(client.token), await opened(client.token)];
  expect([one.status, two.status]).toEqual([200, 200]);
  const three = await opened(client.token);
  expect(await three.read()).toContain("OVERLOADED");
  const other = await opened(postern.admin.token);
  await postern.admin.post("/v1/projects", { name: "seen" });
  for (const stream of [one, two, other]) await stream.hear("seen");
  one.close();
  // The place is free once the server has noticed.
  await expect
    .poll(async () => {
      const stream = await opened(client.token);
      await postern.admin.post("/v1/projects", { name: `seen ${Math.random()}` });
      return stream.read();
    })
    .toContain("seen");
});

test("an organization leaves streams to others, however many callers it has", async () => {
  await using postern = await startPostern({ knownStreamsMax: 4 });
  await using opened = new AsyncDisposableStack();
  const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });
  /** Opens a stream of a new caller of the organization, and tells whether it is refused. */
  const isRefused = async (organizationId: string) => {
    const { userId, client } = await machine(postern, { organizationId });
    await postern.admin.post("/v1/members", { userId, roles: ["ORG_VIEWER"] }, inside(organizationId));
    const connection = new AbortController();
    opened.defer(() => connection.abort());
    const headers = { authorization: `Bearer ${client.token}` };
    const response = await fetch(`${postern.url}/v1/events:watch`, { headers, signal: connection.signal });
    let first: string | undefined;
    response.body
      ?.getReader()
      .read()
      .then(
        ({ value }) => {
          first = Buffer.from(value ?? "").toString();
        },
        () => {},
      );
    while (first === undefined) {
      await postern.admin.post("/v1/projects", { name: `seen ${Math.random()}` }, inside(organizationId));
      await pause(50);
    }
    return first.includes("OVERLOADED");
  };
  const noisy = await organization(postern);
  const refusals = [];
  for (let at = 0; at < 4; at++) refusals.push(await isRefused(noisy));
  expect(refusals).toEqual([false, false, false, true]);
  expect(await isRefused(await organization(postern))).toBe(false);
});

test("a stream ends once its token is revoked", async () => {
  await using postern = await startPostern();
  const { userId, tokenId, client } = await machine(postern);
  await postern.admin.post("/v1/members", { userId, roles: ["ORG_VIEWER"] });
  const headers = { authorization: `Bearer ${client.token}` };
  const response = await fetch(`${postern.url}/v1/events:watch`, { headers });
  expect(response.status).toBe(200);
  let [heard, isOver] = ["", false];
  const hear = async () => {
    for await (const part of response.body ?? []) heard += Buffer.from(part).toString();
  };
  const over = hear().finally(() => {
    isOver = true;
  });
  await postern.admin.post("/v1/projects", { name: "seen" });
  await expect.poll(() => heard).toContain("seen");
  await postern.admin.delete(`/v1/users/${userId}/tokens/${tokenId}`);
  // Before a message the token is looked up again if that was a second ago, so some still come.
  while (!isOver)
    await Promise.all([postern.admin.post("/v1/projects", { name: `more ${Math.random()}` }), pause(100)]);
  await over;
  const lines = heard.trim().split("\n");
  expect(JSON.parse(lines.at(-1) ?? "").error.details[0].reason).toBe("TOKEN_INVALID");
});
