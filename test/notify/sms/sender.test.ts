import { createHmac, timingSafeEqual } from "node:crypto";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readConfig, smsOf } from "../../../src/config/config.ts";
import type { NotTaken } from "../../../src/notify/not_taken.ts";
import { smsSender } from "../../../src/notify/sms/sender.ts";
import { startProvider } from "../provider.ts";

const sms = { id: "0abc", to: "+41791234567", text: "4F7K2M is your verification code." };
const secret = Buffer.alloc(32, 7);
const clock = () => new Date("2031-02-03T04:05:06.789Z");
const soon = () => AbortSignal.timeout(30_000);
const twilio = { kind: "twilio", account: "AC1", password: "pass:word", from: "+15005550006" } as const;

function webhook(url: string) {
  return smsSender({ kind: "webhook", url, secret }, clock);
}

async function refusal(sent: Promise<void>): Promise<NotTaken> {
  return sent.then(
    () => expect.unreachable("it was taken"),
    (error: NotTaken) => error,
  );
}

test("the log sender writes to a file that only its owner reads", async () => {
  const folder = await mkdtemp(join(tmpdir(), "postern-sms-"));
  const file = join(folder, "made", "sms.log");
  const send = smsSender({ kind: "log", file }, clock);
  await send(sms, soon());
  await send({ ...sms, id: "0def" }, soon());
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { time: "2031-02-03T04:05:06.789Z", ...sms },
    { time: "2031-02-03T04:05:06.789Z", ...sms, id: "0def" },
  ]);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  await rm(folder, { recursive: true });
});

test("the log sender closes a file that others could read, and says when it cannot write", async () => {
  const folder = await mkdtemp(join(tmpdir(), "postern-sms-"));
  const file = join(folder, "sms.log");
  await writeFile(file, "", { mode: 0o644 });
  await smsSender({ kind: "log", file }, clock)(sms, soon());
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const { message, permanent } = await refusal(smsSender({ kind: "log", file: folder }, clock)(sms, soon()));
  expect({ message, permanent }).toEqual({ message: "its file cannot be written (EISDIR)", permanent: false });
  await rm(folder, { recursive: true });
});

test("a webhook can verify who posts, what, and when", async () => {
  await using provider = await startProvider();
  await webhook(provider.url)(sms, soon());
  const [{ headers, body } = expect.unreachable()] = provider.received;
  expect(JSON.parse(body)).toEqual({ type: "sms", timestamp: "2031-02-03T04:05:06.789Z", data: sms });
  expect(headers).toMatchObject({ "content-type": "application/json", "webhook-id": "0abc" });
  expect(headers["webhook-timestamp"]).toBe(String(Date.UTC(2031, 1, 3, 4, 5, 6) / 1000));
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const [version, signature = ""] = String(headers["webhook-signature"]).split(",");
  expect(version).toBe("v1");
  const expected = createHmac("sha256", secret).update(signed).digest();
  expect(timingSafeEqual(Buffer.from(signature, "base64"), expected)).toBe(true);
});

test("Twilio gets a form, under the account and its password", async () => {
  await using provider = await startProvider((response) => response.writeHead(201).end("{}"));
  await smsSender({ ...twilio, url: new URL("/", provider.url).href }, clock)(sms, soon());
  const [{ path, headers, body } = expect.unreachable()] = provider.received;
  expect(path).toBe("/2010-04-01/Accounts/AC1/Messages.json");
  expect(headers.authorization).toBe(`Basic ${Buffer.from("AC1:pass:word").toString("base64")}`);
  expect(headers["content-type"]).toBe("application/x-www-form-urlencoded");
  expect(Object.fromEntries(new URLSearchParams(body))).toEqual({ To: sms.to, From: "+15005550006", Body: sms.text });
});

test("a messaging service is named as such, below a path", async () => {
  await using provider = await startProvider();
  const from = `MG${"0a".repeat(16)}`;
  await smsSender({ ...twilio, url: `${provider.url}/gateway`, from }, clock)(sms, soon());
  const [{ path, body } = expect.unreachable()] = provider.received;
  expect(path).toBe("/sms/gateway/2010-04-01/Accounts/AC1/Messages.json");
  expect(Object.fromEntries(new URLSearchParams(body))).toEqual({
    To: sms.to,
    MessagingServiceSid: from,
    Body: sms.text,
  });
});

for (const [status, permanent] of [
  [301, true],
  [400, true],
  [401, true],
  [404, true],
  [408, false],
  [429, false],
  [500, false],
  [503, false],
] as const)
  test(`${status} means ${permanent ? "never" : "not now"}, whatever it says beside`, async () => {
    await using provider = await startProvider((response, { body }, nth) => {
      if (nth > 1) return response.end();
      const answer = JSON.stringify({ code: 21211, message: body });
      return response.writeHead(status, { location: "/elsewhere" }).end(answer);
    });
    const no = await refusal(webhook(provider.url)(sms, soon()));
    expect(no).toMatchObject({ permanent, message: `it answered ${status} with error 21211` });
    expect(provider.received).toHaveLength(1);
  });

test("nobody there, and nobody answering, mean not now", async () => {
  const gone = await startProvider();
  await gone[Symbol.asyncDispose]();
  const refused = await refusal(webhook(gone.url)(sms, soon()));
  expect(refused).toMatchObject({ permanent: false, message: "it cannot be reached (ECONNREFUSED)" });
  await using silent = await startProvider(() => {});
  const late = await refusal(webhook(silent.url)(sms, AbortSignal.timeout(50)));
  expect(late).toMatchObject({ permanent: false, message: "it did not answer in time" });
  await using rude = await startProvider((response) => response.destroy());
  expect(await refusal(webhook(rude.url)(sms, soon()))).toMatchObject({ permanent: false });
});

test("a success whose body breaks off or never ends is a success", async () => {
  await using provider = await startProvider((response, _, nth) => {
    response.writeHead(200, { "content-length": "100000" }).write("x".repeat(nth === 1 ? 10 : 50_000));
    if (nth === 1) setTimeout(() => response.destroy(), 20);
  });
  await webhook(provider.url)(sms, soon());
  await webhook(provider.url)(sms, soon());
});

test("patience is asked for in seconds, and five minutes are the most", async () => {
  await using provider = await startProvider((response, _, nth) =>
    response.writeHead(503, { "retry-after": ["7", "86400", "Wed, 21 Oct 2015 07:28:00 GMT"][nth - 1] ?? "" }).end(),
  );
  const asked = async () => (await refusal(webhook(provider.url)(sms, soon()))).retrySeconds;
  expect([await asked(), await asked(), await asked()]).toEqual([7, 300, 0]);
});

test("settings choose the sender, and a wrong one stops the start", () => {
  const key = secret.toString("base64");
  const url = "https://sms.example.com/hook";
  const of = (env: Record<string, string>) => smsOf(readConfig(env));
  expect(of({ POSTERN_DATA_DIR: "/srv/data" })).toEqual({ kind: "log", file: "/srv/data/sms.log" });
  const hook = { SMS_SENDER: "webhook", SMS_WEBHOOK_URL: url, SMS_WEBHOOK_SECRET: `whsec_${key}` };
  expect(of(hook)).toEqual({ kind: "webhook", url, secret });
  const account = { SMS_TWILIO_ACCOUNT_SID: "AC1", SMS_TWILIO_AUTH_TOKEN: "secret", SMS_TWILIO_FROM: "Postern" };
  expect(of({ SMS_SENDER: "twilio", ...account })).toMatchObject({ kind: "twilio", url: "https://api.twilio.com" });
  for (const [env, sentence] of [
    [{ SMS_SENDER: "pigeon" }, /^SMS_SENDER must be one of log, webhook, twilio/],
    [{ ...hook, SMS_WEBHOOK_URL: "" }, /^SMS_WEBHOOK_URL is required with SMS_SENDER=webhook/],
    [{ ...hook, SMS_WEBHOOK_SECRET: "" }, /^SMS_WEBHOOK_SECRET is required/],
    [{ ...hook, SMS_WEBHOOK_SECRET: "c2hvcnQ=" }, /^SMS_WEBHOOK_SECRET must be base64 of 24 to 64 bytes/],
    [{ ...hook, SMS_WEBHOOK_URL: "ftp://example.com" }, /^SMS_WEBHOOK_URL must be an http/],
    [{ ...hook, SMS_WEBHOOK_URL: "https://u:p@example.com" }, /^SMS_WEBHOOK_URL must be an http/],
    [{ SMS_SENDER: "twilio", ...account, SMS_TWILIO_FROM: "" }, /^SMS_TWILIO_FROM is required/],
    [{ SMS_TEXT: "hello" }, /^SMS_TEXT must contain \{code\}/],
    [{ PHONE_DEFAULT_REGION: "ZZ" }, /^PHONE_DEFAULT_REGION must be a region/],
  ] as const)
    expect(() => readConfig(env)).toThrow(sentence);
});
