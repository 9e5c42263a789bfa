import { type Call, callOrigin, keys } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import type { Language } from "../../messages/catalogue.ts";
import type { Sql } from "../../postgres/pool/connect.ts";

/** The recipient of a requested mail: an account by one of these texts, for a new password or to sign in with, and its organization. */
export type MailFor = Readonly<
  Record<"loginName" | "email" | "nameOrEmail" | "signInName" | "organizationId", string | null>
>;

/** A mail to nobody, to which one of the texts is added. */
export const forNobody: MailFor = {
  loginName: null,
  email: null,
  nameOrEmail: null,
  signInName: null,
  organizationId: null,
};

/** A request for a mail, open to anybody. One to sign in with has the hashes of the cookies by which the browser may be known. */
export type MailRequest = {
  readonly id: string;
  readonly of: MailFor;
  readonly language: Language;
  readonly browsers?: readonly string[];
};

// The worker clears a hundred at a time, so this many wait only if it does not run.
const mostWaiting = 10_000;

/** Queues the request for the worker, with the id of the call and where it came from, whether or not an account exists. */
export async function keepMailRequest(
  sql: Sql,
  { id, of, language, browsers = [] }: MailRequest,
  call: Call,
): Promise<void> {
  const { loginName, email, nameOrEmail, signInName, organizationId } = of;
  const callId = call.values.get(keys.requestId);
  const origin = callOrigin(call);
  const from = origin ? JSON.stringify(origin) : null;
  const { count } = await sql`
    insert into password_reset_requests (request_id, login_name, email, name_or_email, sign_in_name, organization_id, language,
      call_id, origin, browsers)
    select ${id}, ${loginName}, ${email}, ${nameOrEmail}, ${signInName}, ${organizationId}, ${language}, ${callId},
      ${from}::text::jsonb, ${browsers.length > 0 ? browsers.join(" ") : null}
    where not exists (select from password_reset_requests offset ${mostWaiting - 1})`;
  if (count === 0) throw refuse.because("OVERLOADED", { retrySeconds: 10 });
}
