import { expect, test } from "vitest";
import type { Mail } from "../../../src/notify/mail/mail.ts";
import { type SmtpServer, smtpSender } from "../../../src/notify/mail/smtp_sender.ts";
import type { NotTaken } from "../../../src/notify/not_taken.ts";
import { type MailServer, startMailServer } from "../mail_server.ts";

const from = { name: "Pförtner", address: "no-reply@example.com" };
const mail: Mail = {
  id: "0abc",
  to: "ada@example.com",
  subject: "Bestätigen Sie Ihre E-Mail-Adresse",
  text: "Ein Code: 234567\n",
  html: "<p>Ein Code: <strong>234567</strong></p>\n",
};
const soon = () => AbortSignal.timeout(30_000);

const senderTo = ({ port, caFile }: Pick<MailServer, "port" | "caFile">, more: Partial<SmtpServer> = {}) =>
  smtpSender({
    host: "localhost",
    port,
    encryption: "starttls",
    auth: undefined,
    caFile,
    from,
    timeoutMs: 20_000,
    ...more,
  });

const refusal = (sent: Promise<void>): Promise<NotTaken> =>
  sent.then(
    () => expect.unreachable("it was taken"),
    (error: NotTaken) => error,
  );

/** The headers of a mail, unfolded. */
const headersOf = (raw: string) => (raw.split("\r\n\r\n")[0] ?? "").replaceAll(/\r\n[ \t]/g, " ").split("\r\n");

test("a mail leaves encrypted by STARTTLS, signed in, as text and as HTML", async () => {
  const login = { user: "postern", pass: "pass:wörd/@" };
  await using server = await startMailServer({ login });
  await senderTo(server, { auth: login })(mail, soon());
  const [{ raw, ...envelope } = expect.unreachable()] = server.taken;
  expect(envelope).toEqual({ from: from.address, to: [mail.to], encrypted: true, user: "postern" });
  const headers = headersOf(raw);
  expect(headers).toContain("Message-ID: <0abc@example.com>");
  expect(headers).toContain("To: ada@example.com");
  expect(headers).toContain("Auto-Submitted: auto-generated");
  expect(raw).toContain("Content-Type: text/plain; charset=utf-8");
  expect(raw).toContain("Content-Type: text/html; charset=utf-8");
  expect(raw).toContain("Ein Code: 234567");
});

test("a server of smtps:// is spoken to in TLS from the first byte", async () => {
  await using server = await startMailServer({ tls: true });
  await senderTo(server, { encryption: "tls" })(mail, soon());
  expect(server.taken).toMatchObject([{ to: [mail.to], encrypted: true }]);
});

test("nothing is sent without encryption, unless the settings say so", async () => {
  await using server = await startMailServer({ plain: true });
  expect(await refusal(senderTo(server)(mail, soon()))).toMatchObject({ permanent: false });
  expect(server.taken).toEqual([]);
  await senderTo(server, { encryption: "none" })(mail, soon());
  expect(server.taken).toMatchObject([{ encrypted: false }]);
});

test("a server whose certificate nobody vouches for gets no mail", async () => {
  await using server = await startMailServer();
  expect(await refusal(senderTo(server, { caFile: undefined })(mail, soon()))).toMatchObject({ permanent: false });
  const unread = senderTo(server, { caFile: "/nowhere/ca.pem" });
  expect((await refusal(unread(mail, soon()))).message).toBe("its authorities cannot be read (ENOENT)");
  expect(server.taken).toEqual([]);
});

test("a wrong password of the settings is tried again, and the error repeats nothing of it", async () => {
  await using server = await startMailServer({ login: { user: "postern", pass: "right" } });
  const { message, permanent } = await refusal(
    senderTo(server, { auth: { user: "postern", pass: "wrong" } })(mail, soon()),
  );
  expect({ message, permanent }).toEqual({ message: "it answered 535", permanent: false });
});

test.each([
  [550, true],
  [450, false],
])("a recipient that is refused with %d is given up: %s", async (status, permanent) => {
  await using server = await startMailServer({ refuses: () => status });
  const no = await refusal(senderTo(server)(mail, soon()));
  expect({ message: no.message, permanent: no.permanent }).toEqual({ message: `it answered ${status}`, permanent });
});

test("a server that is away is tried again", async () => {
  const { port, caFile } = await (async () => {
    await using server = await startMailServer();
    return { port: server.port, caFile: server.caFile };
  })();
  const no = await refusal(senderTo({ port, caFile }, { caFile: undefined })(mail, soon()));
  expect({ permanent: no.permanent, text: no.message }).toMatchObject({
    permanent: false,
    text: expect.stringMatching(/^it cannot be used/),
  });
  expect(no.message).not.toContain("ada");
});

test.each([
  "ada@example.com\r\nBcc: eve@example.com",
  "ada@example.com>\r\nRCPT TO:<eve@example.com",
  "ada@example.com, eve@example.com",
  "ada@example.com eve@example.com",
  "Ada <ada@example.com>",
  "ada",
  "",
])("%j is no address, and reaches no server", async (to) => {
  await using server = await startMailServer();
  expect(await refusal(senderTo(server)({ ...mail, to }, soon()))).toMatchObject({ permanent: true });
  expect(server.taken).toEqual([]);
});

test("a line break in a subject or a name ends no header", async () => {
  await using server = await startMailServer();
  const evil = "x\r\nBcc: eve@example.com\r\n\r\nbody";
  await senderTo(server, { from: { name: evil, address: from.address } })({ ...mail, subject: evil }, soon());
  const [{ raw, to } = expect.unreachable()] = server.taken;
  expect(to).toEqual([mail.to]);
  expect(headersOf(raw).filter((line) => /^bcc:/i.test(line))).toEqual([]);
});
