import type { Call, Deps } from "../../deps.ts";
import { constraintOf } from "../../errors.ts";
import type { NewFact } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Language } from "../../messages/language.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { languageOfMail, type MailSettings } from "../verification/mail.ts";
import { newEmailCode } from "../verification/mail_code.ts";
import { type MailSends, mailSendsColumns, mailWaitSeconds } from "../verification/mail_limits.ts";

/** A new user whose address is to be verified. */
export type Addressee = {
  readonly id: string;
  readonly username: string;
  readonly email: string;
  /** The preferred language, if there are texts in it. */
  readonly language: Language | undefined;
};

/** The code for a new user's address: its id, and the secret that the fact carries. */
export type NewUserMail = { readonly emailCodeId: string; readonly secret: NonNullable<NewFact["secret"]> & object };

type Sends = MailSends & { readonly n: number };

const sendsQuestion = (settings: MailSettings) => ({
  asked: "id text, email text",
  select: `select n, ${mailSendsColumns({ user: "asked.id", email: "asked.email", purpose: "email" }, settings)} from asked`,
});

const mostTries = 5;

/** Makes the mails that verify new users' addresses; beyond the sending limits, none is sent. */
export function newUserMails(deps: Pick<Deps, "sql" | "ids" | "clock" | "secrets">, settings: MailSettings) {
  const sendsTo = loadOne<{ id: string; email: string }, MailSends>(deps.sql, sendsQuestion(settings));

  return {
    /** Makes the mails of a batch, at most one per address. */
    async ofAll(users: readonly (Addressee | undefined)[], call: Call): Promise<(NewUserMail | undefined)[]> {
      const firsts = firstOfEachAddress(users);
      const sends = new Map((await sendsOfAll(deps.sql, firsts, settings)).map((one) => [one.n, one]));
      return firsts.map((user, n) => user && mailTo(user, sends.get(n), call));
    },

    /**
     * Appends the creation of a user with its mail. If another mail to the address wins the race, this tries again, and finally does
     * without the mail.
     */
    async appended<A>(user: Addressee, call: Call, append: (mail?: NewUserMail) => Promise<A>): Promise<A> {
      const { id, email } = user;
      for (let tries = mostTries; tries > 0; tries--) {
        const mail = mailTo(user, await sendsTo({ id, email }, call.signal), call);
        try {
          return await append(mail);
        } catch (error) {
          if (constraintOf(error) !== "mail_sends_nth") throw error;
        }
      }
      return append();
    },
  };

  function mailTo({ id, username, email, language: own }: Addressee, sends: MailSends | undefined, call: Call) {
    if (!sends || mailWaitSeconds(sends, settings, deps.clock()) > 0) return undefined;
    const language = own ?? languageOfMail(call, settings);
    const of = { id: deps.ids(), userId: id, email };
    return { emailCodeId: of.id, ...newEmailCode(deps, of, { loginName: username, language, nth: sends.nth }) };
  }
}

function firstOfEachAddress(users: readonly (Addressee | undefined)[]): (Addressee | undefined)[] {
  const seen = new Set<string>();
  return users.map((user) => {
    const address = user?.email.toLowerCase();
    if (address === undefined || seen.has(address)) return undefined;
    seen.add(address);
    return user;
  });
}

/** Reads a batch's use of the sending limits in a separate statement: hundreds of addresses would delay other callers of the shared one. */
async function sendsOfAll(sql: Sql, users: readonly (Addressee | undefined)[], settings: MailSettings) {
  const keys = users.flatMap((user, n) => (user ? [{ n, id: user.id, email: user.email }] : []));
  if (keys.length === 0) return [];
  const { asked, select } = sendsQuestion(settings);
  return await sql<Sends[]>`
    with asked as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(keys)}::text::jsonb) as asked (n integer, ${sql.unsafe(asked)})
    )
    ${sql.unsafe(select)}`;
}
