import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { machine, startPostern } from "../harness.ts";

test("a stream ends once its token is revoked", async () => {
  await using postern = await startPostern();
  const { userId, tokenId, client } = await machine(postern);
  await postern.admin.post("/v1/members", { userId, roles: ["ORG_VIEWER"] });
  const headers = { authorization: `Bearer ${client.token}` };
  const response = await fetch(`${postern.url}/v1/events:watch`, { headers });
  expect(response.status).toBe(200);
  const heard = response.text();
  await postern.admin.post("/v1/projects", { name: "seen" });
  await pause(1100);
  await postern.admin.delete(`/v1/users/${userId}/tokens/${tokenId}`);
  await postern.admin.post("/v1/projects", { name: "not seen" });
  const lines = (await heard)
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const names = lines.flatMap(({ event }) => event?.fact.project?.created?.name ?? []);
  expect(names).toEqual(["seen"]);
  expect(lines.at(-1).error.details[0].reason).toBe("TOKEN_INVALID");
});
