import { expect, test } from "vitest";
import type { Language } from "../../../src/messages/catalogue.ts";
import { accountLabel, isNotice, linkLabel, type MailKind, mailTexts } from "../../../src/messages/mail_texts.ts";
import { mailOf } from "../../../src/notify/mail/mail.ts";

const languages: readonly Language[] = ["en", "de", "fr", "es"];
const kinds = Object.keys(mailTexts) as MailKind[];
const code = "23456789BCDFGHJK";
const parts = { id: "0abc", to: "ada@example.com", language: "en" } as const;

test.each(kinds.flatMap((kind) => languages.map((language) => [kind, language] as const)))(
  "%s in %s says the same as text and as HTML, in words of its own",
  (kind, language) => {
    const { subject, text, html } = mailOf({ ...parts, kind, language, codes: [{ loginName: "ada", code }] });
    const { before, after } = mailTexts[kind][language];
    expect(subject).toBe(mailTexts[kind][language].subject);
    const entities: Record<string, string> = { "&#39;": "'", "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"' };
    const plain = html.replaceAll(/&[#\w]+;/g, (entity) => entities[entity] ?? entity);
    // A mail that tells of a change has a code in its link alone.
    for (const sentence of [before, after, isNotice(kind) ? "ada" : "2345-6789-BCDF-GHJK"]) {
      expect(text).toContain(sentence);
      expect(plain).toContain(sentence);
    }
    expect(html).toContain(`<html lang="${language}">`);
    for (const other of languages.filter((one) => one !== language))
      expect(mailTexts[kind][other].before).not.toBe(before);
  },
);

test("a login name is text in a mail, whatever it looks like", () => {
  const loginName = `<script>alert("x")</script>&'`;
  const { text, html } = mailOf({ ...parts, kind: "reset_password", codes: [{ loginName, code }] });
  expect(text).toContain(`${accountLabel.en} ${loginName}`);
  expect(html).not.toContain("<script");
  expect(html).toContain("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&#39;");
});

test("every account has its own code and its own link, as text and as HTML", () => {
  const link = "https://app.example/password?code=3333333333333333&x=1";
  const codes = [
    { loginName: "ada", code: "2222222222222222", link: "https://app.example/password#2222222222222222" },
    { loginName: "bob", code: "3333333333333333", link },
    { loginName: "eve", code: "4444444444444444" },
  ];
  const { text, html } = mailOf({ ...parts, kind: "reset_password", codes });
  expect(text).toContain(
    `${accountLabel.en} ada\n2222-2222-2222-2222\n${linkLabel.en}\nhttps://app.example/password#2222222222222222\n`,
  );
  expect(text).toContain(`${accountLabel.en} bob\n3333-3333-3333-3333\n${linkLabel.en}\n${link}\n`);
  expect(text).toContain(`${accountLabel.en} eve\n4444-4444-4444-4444\n\n${mailTexts.reset_password.en.after}`);
  expect(html).toContain('href="https://app.example/password?code=3333333333333333&amp;x=1"');
});

test("a mail that verifies an address names nobody", () => {
  const link = "https://id.example/email?code=sealed";
  const codes = [{ loginName: "ada", code: "234567", link }];
  const { text, html } = mailOf({ ...parts, kind: "verify_email", codes });
  expect(text).toContain(`\n234567\n${linkLabel.en}\n${link}\n`);
  expect(text + html).not.toMatch(/ada/);
});
