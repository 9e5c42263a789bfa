import { escapeHtml } from "../../html_text.ts";
import type { Language } from "../../messages/catalogue.ts";
import {
  accountLabel,
  forgottenLabel,
  isNotice,
  linkLabel,
  type MailKind,
  mailTexts,
  organizationLabel,
  wayBackLabel,
} from "../../messages/mail_texts.ts";
import { groupedCode } from "../../security/code.ts";

/** A mail to send; resending it keeps the id. */
export type Mail = {
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
};

/** Hands a mail to the provider, or throws NotTaken. */
export type MailSender = (mail: Mail, signal: AbortSignal) => Promise<void>;

export type MailParts = {
  readonly id: string;
  readonly to: string;
  readonly kind: MailKind;
  readonly language: Language;
  readonly codes: readonly MailedCode[];
};

/** A code with its account's login name, and the link to a page that accepts it. */
export type MailedCode = {
  /** In a mail with which somebody joins an organization, the name of the organization, or an empty text. */
  readonly loginName: string;
  /** Absent in a mail without a code. */
  readonly code?: string;
  readonly link?: string | undefined;
};

/** The URLs of the pages for mailed codes, with `{code}` in place of the code. Without a URL, a mail only contains the code. */
export type CodePages = Readonly<Partial<Record<MailKind, string | undefined>>>;

/** Writes a mail, as plain text and HTML. Only its codes and names are variable. */
export function mailOf({ id, to, kind, language, codes }: MailParts): Mail {
  const { subject, before, after } = mailTexts[kind][language];
  const shown = codes.map(({ loginName, code, link }) => ({
    account: accountOf(kind, language, loginName),
    // A code that undoes a change only works through its link.
    code: code === undefined || isNotice(kind) ? undefined : groupedCode(code),
    label: link && labelOf(kind)[language],
    link,
  }));
  const text = [before, ...shown.map(asText), after].join("\n\n");
  const body = [paragraph(before), ...shown.map(asHtml), paragraph(after)].join("\n");
  return { id, to, subject, text: `${text}\n`, html: page(language, subject, body) };
}

function labelOf(kind: MailKind): Readonly<Record<Language, string>> {
  if (kind === "registration_known") return forgottenLabel;
  return isNotice(kind) ? wayBackLabel : linkLabel;
}

function accountOf(kind: MailKind, language: Language, name: string): string | undefined {
  switch (kind) {
    // Until the address is verified, its reader may not be the user, so the account is not named.
    case "verify_email":
      return undefined;
    case "organization_invitation":
    case "registration":
    case "registration_known":
      return name === "" ? undefined : `${organizationLabel[language]} ${name}`;
    default:
      return `${accountLabel[language]} ${name}`;
  }
}

type Shown = Readonly<Record<"account" | "code" | "label" | "link", string | undefined>>;

const asText = ({ account, code, label, link }: Shown): string =>
  [account, code, label, link].filter((line) => line !== undefined).join("\n");

function asHtml({ account, code, label, link }: Shown): string {
  const lines = [
    account === undefined ? undefined : escapeHtml(account),
    code === undefined
      ? undefined
      : `<strong style="font-size:1.5em;letter-spacing:0.1em">${escapeHtml(code)}</strong>`,
    label === undefined ? undefined : escapeHtml(label),
    link === undefined ? undefined : `<a href="${escapeHtml(link)}">${escapeHtml(link)}</a>`,
  ];
  return `<p>${lines.filter((line) => line !== undefined).join("<br>\n")}</p>`;
}

const paragraph = (text: string): string => `<p>${escapeHtml(text)}</p>`;

const page = (language: Language, title: string, body: string): string =>
  `<!doctype html>\n<html lang="${language}">\n<head><meta charset="utf-8"><title>${escapeHtml(title)}</title></head>\n<body>\n${body}\n</body>\n</html>\n`;
