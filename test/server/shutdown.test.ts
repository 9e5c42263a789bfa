import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { eventually, readyStatus } from "../first_start.ts";
import { signedUp, startPostern } from "../harness.ts";
import { startProvider } from "../notify/provider.ts";

test("a node that stops is not ready from the beginning, also while an SMS is on its way", async () => {
  const waiting: ServerResponse[] = [];
  await using provider = await startProvider((response) => void waiting.push(response));
  const sms = { smsSender: "webhook", smsWebhookUrl: provider.url, smsWebhookSecret: Buffer.alloc(32, 1) } as const;
  const postern = await startPostern({ ...sms, smsTimeoutMs: 200_000, shutdownDelayMs: 6000 });
  const { userId } = await signedUp(postern);
  const sent = await postern.admin.post(`/v1/users/${userId}/phone`, { phone: "+41446681800" });
  expect(sent.status).toBe(200);
  await eventually(() => waiting.length > 0 || undefined, "the SMS");
  const stopped = postern[Symbol.asyncDispose]();
  expect(
    await eventually(() => readyStatus(postern.url).then((status) => (status === 200 ? undefined : status)), "503"),
  ).toBe(503);
  for (const response of waiting) response.end();
  await stopped;
});
