import type { Call, Deps } from "../../deps.ts";
import { factOf, first } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import { lostRace } from "../../events/log.ts";
import type { Language } from "../../messages/catalogue.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { makeSignInCode } from "../../security/mailed_secret.ts";
import { userInForce } from "../callers/in_force.ts";
import { emailIsProven, type NameKey, nameAsked, nameKey, qualifiedName, userNamed } from "../callers/login_name.ts";
import { mailCodesOf } from "../policies/sign_in_policy.ts";
import { type MailSettings, mailSecret, type NewMail } from "../verification/mail.ts";
import type { MailCodeSecret } from "../verification/mail_code.ts";
import { mailSendsRead, mailWaitSeconds } from "../verification/mail_limits.ts";
import { knownBrowserOf } from "./known_browser.ts";

/** How long a code to sign in with is valid. */
export const signInCodeSeconds = 900;

/** The SQL condition that the person `u` may sign in with mailed codes now, which are sent only to a proven address. */
export const takesMailCodes = `u.kind = 'human' and ${userInForce} and ${emailIsProven("u")} and ${mailCodesOf("u")}`;

/** A request for a mail to sign in with. */
type SignInRequest = {
  /** The id of the request, which becomes that of the code. */
  readonly id: string;
  readonly signInName: string;
  readonly organizationId: string | null;
  /** The hashes of the cookies by which its browser may be known. */
  readonly browsers: string | null;
  readonly language: Language;
};

type Asked = { readonly request: SignInRequest; readonly call: Call };

/** Mails a code to the only user whom a sign-in with the name would try, if that user may use mailed codes. */
export async function answerSignIn(deps: Deps, settings: MailSettings, asked: Asked): Promise<void> {
  const { signInName: loginName, organizationId, browsers } = asked.request;
  const userOf = userByName(deps.sql);
  const key = nameKey({ loginName, organizationId: organizationId ?? undefined });
  // Another mail to the address may win the race.
  for (let tries = 0; tries < 5; tries++) {
    const user = await userOf({ ...key, browsers: browsers ?? "", now: deps.clock().toISOString() });
    if (!user) return deps.noteAttempt({ case: "signInCodeRequested", value: {} }, undefined, asked.call);
    if (await mailed(deps, settings, { ...asked, user })) return;
  }
}

/**
 * Writes the mail with the code, as a fact about an attempt; false if a race was lost. Mails requested by known browsers are counted
 * separately, so that strangers cannot use these up.
 */
async function mailed(deps: Deps, settings: MailSettings, { request, call, user }: Asked & { readonly user: User }) {
  const { id: userId, email } = user;
  const purpose = user.isKnown ? "sign_in_known" : "sign_in";
  const sends = await mailSendsRead(deps.sql, { userId, email, purpose }, settings);
  if (!sends || mailWaitSeconds(sends, settings, deps.clock()) > 0) {
    deps.noteAttempt({ case: "signInCodeRequested", value: {} }, user, call);
    return true;
  }
  const at = first(user.owner, deps.ids(), deps.clock());
  const value = { userId, signInCodeId: request.id };
  const secret = secretOf(deps, { user, request, purpose, nth: sends.nth });
  const asked = factOf("attempt", at, { case: "signInCodeRequested", value }, secret);
  return deps.log.append(call, [asked], true).catch(lostRace);
}

type CodeMail = Pick<NewMail, "nth" | "purpose"> & { readonly user: User; readonly request: SignInRequest };

function secretOf(deps: Deps, { user, request, purpose, nth }: CodeMail) {
  const { email } = user;
  const { id, language } = request;
  const expirationDate = new Date(deps.clock().getTime() + signInCodeSeconds * 1000);
  const { code, mac } = makeSignInCode(deps.secrets.keyring, { id, userId: user.id, email });
  const mailCode: MailCodeSecret = {
    id,
    purpose: "sign_in",
    email,
    mac: mac.toString("hex"),
    mailId: id,
    expirationDate: expirationDate.toISOString(),
  };
  const codes = [{ loginName: user.qualifiedName, code }];
  const mail = { kind: "sign_in", purpose, email, language, codes, expirationDate, nth } as const;
  return { mailCode, mail: mailSecret(deps, id, mail) };
}

type User = Readonly<Record<"id" | "owner" | "email" | "qualifiedName", string>> & {
  /** Whether the browser that asked is known to the user. */
  readonly isKnown: boolean;
};

const userByName = (sql: Sql) =>
  loadOne<NameKey & Readonly<Record<"browsers" | "now", string>>, User>(sql, {
    asked: `${nameAsked}, browsers text, now timestamptz`,
    select: `select n, u.user_id as id, u.owner, u.email, ${qualifiedName("u")} as "qualifiedName",
               exists (${knownBrowserOf("u.user_id", "asked.browsers")}) as "isKnown"
             from asked join ${userNamed} join users u on u.owner = l.owner and u.user_id = l.user_id
             where ${takesMailCodes} and not (u.locked and coalesce(u.locked_until > asked.now, true))`,
  });
