import type { MailKind } from "../../messages/mail_texts.ts";
import { type IssuerSettings, issuerOf } from "../http/issuer.ts";
import { paths } from "../http/paths.ts";

/** The settings of the links in mails. */
export type CodePageSettings = IssuerSettings & {
  readonly mailSender: "log" | "smtp" | "webhook";
  /** An operator's own page for codes that set a password. */
  readonly passwordCodeUrl: string | undefined;
};

/**
 * The URLs of the pages for mailed codes, with `{code}` in place of the code. They derive only from PUBLIC_URL, never from a request. If it
 * is not set, mails sent beyond this machine contain no links, because their readers' localhost is another machine.
 */
export function codePages(settings: CodePageSettings): Readonly<Record<MailKind, string | undefined>> {
  const { publicUrl, mailSender, passwordCodeUrl, port } = settings;
  const issuer = publicUrl || mailSender === "log" ? issuerOf(settings, port) : undefined;
  const at = (path: string) => issuer && `${issuer}${path}?code={code}`;
  const plain = (path: string) => issuer && issuer + path;
  return {
    verify_email: at(paths.confirmEmail),
    reset_password: passwordCodeUrl ?? at(paths.newPassword),
    invitation: passwordCodeUrl ?? at(paths.firstPassword),
    organization_invitation: at(paths.organizationInvitation),
    registration: at(paths.completeRegistration),
    registration_known: plain(paths.forgottenPassword),
    sign_in: at(paths.mailedSignIn),
    email_changed: at(paths.restoreEmail),
    email_replaced: plain(paths.account),
    password_changed: plain(paths.forgottenPassword),
    factor_added: plain(paths.accountFactors),
    factor_removed: plain(paths.accountFactors),
    new_device: plain(paths.accountSessions),
    // The account no longer exists, so there is no page for it.
    account_deleted: undefined,
  };
}
