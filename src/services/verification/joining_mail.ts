import type { Call, Deps } from "../../deps.ts";
import { makeJoiningCode } from "../../security/mailed_secret.ts";
import type { JoiningPurpose } from "./joining_mail_limits.ts";
import { languageOfMail, type MailSettings, mailSecret, type NewMail } from "./mail.ts";
import type { MailCodeSecret } from "./mail_code.ts";

/** A mail with which somebody joins an organization. */
export type JoiningMail = Pick<NewMail, "email" | "nth" | "kind"> & {
  readonly purpose: JoiningPurpose;
  readonly organizationName: string;
  /** The number of seconds for which its code is valid; the text of the mail states it. */
  readonly seconds: number;
  /** The hash of the cookie of the browser that asked for it, in hexadecimal, if a browser did. */
  readonly browser?: string | undefined;
};

/** Makes the code of such a mail and the mail with it, in the form of its fact's secret. */
export function joiningMails(deps: Pick<Deps, "ids" | "clock" | "secrets">, settings: MailSettings) {
  const make = (of: JoiningMail, call: Call, code: string | undefined) => {
    const { organizationName, seconds, browser: _, ...rest } = of;
    const id = deps.ids();
    const expirationDate = new Date(deps.clock().getTime() + seconds * 1000);
    const language = languageOfMail(call, settings);
    const codes = [{ loginName: nameInMail(organizationName), ...(code === undefined ? {} : { code }) }];
    return { id, expirationDate, mail: mailSecret(deps, id, { ...rest, language, codes, expirationDate }) };
  };

  return {
    withCode(of: JoiningMail, call: Call) {
      const { code, hash } = makeJoiningCode();
      const { id, expirationDate, mail } = make(of, call, code);
      const mailCode: MailCodeSecret = {
        id,
        purpose: of.purpose,
        email: of.email,
        mac: hash.toString("hex"),
        mailId: id,
        expirationDate: expirationDate.toISOString(),
        ...(of.browser !== undefined && { browser: of.browser }),
      };
      return { expirationDate, secret: { mailCode, mail } };
    },

    /** A mail without a code. */
    withoutCode: (of: JoiningMail, call: Call) => ({ mail: make(of, call, undefined).mail }),
  };
}

const longestName = 100;

// Mail programs turn addresses into links, and whoever names an organization must not make us mail theirs.
const likeAnAddress = /[\p{L}\p{N}][.:@/][\p{L}\p{N}/]/u;

/** The name of an organization for mails; empty if it is long or contains something that may become a link. */
export const nameInMail = (name: string): string =>
  name.length > longestName || likeAnAddress.test(name) || /[\p{C}\n]/u.test(name) ? "" : name;
