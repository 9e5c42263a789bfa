import type { Deps } from "../../deps.ts";
import { makePasswordCode } from "../../security/mail_code.ts";
import type { MailCodeSecret } from "./mail_code.ts";

/** The lifetime of a code of a user who forgot its password. */
export const resetSeconds = 3600;

/** The lifetime of an invitation: a day after a master key was replaced, nothing that it signed is left. */
export const invitationSeconds = 86_400;

/** The user, the address and the mail of a code that sets a password, and its end. */
export type PasswordCodeOf = {
  readonly id: string;
  readonly email: string;
  /** The mail that brings it; null when it is answered. */
  readonly mailId: string | null;
  readonly expirationDate: Date;
};

/** Makes a code that sets a password: its text, and the form that the secret of its fact holds. */
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
