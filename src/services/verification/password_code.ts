import type { Deps } from "../../deps.ts";
import { makePasswordCode } from "../../security/mailed_secret.ts";
import type { MailCodeSecret } from "./mail_code.ts";

/** The lifetime of a code for a forgotten password. */
export const resetSeconds = 3600;

/** The lifetime of an invitation: a day after a master key is replaced, nothing signed with it is still valid. */
export const invitationSeconds = 86_400;

/** The user, address, mail and expiry of a code that sets a password. */
export type PasswordCodeOf = {
  readonly id: string;
  readonly email: string;
  /** The mail that carries it; null if the response returns it. */
  readonly mailId: string | null;
  readonly expirationDate: Date;
};

/** Makes a code that sets a password: its text, and the form in its fact's secret. */
export function newPasswordCode(
  { secrets }: Pick<Deps, "secrets">,
  { id, email, mailId, expirationDate }: PasswordCodeOf,
) {
  const { code, mac } = makePasswordCode(secrets.keyring);
  const mailCode: MailCodeSecret = {
    id,
    purpose: "password",
    email,
    mac: mac.toString("hex"),
    mailId,
    expirationDate: expirationDate.toISOString(),
  };
  return { code, mailCode };
}
