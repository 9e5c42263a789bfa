import { type Call, type Deps, systemCall } from "../../deps.ts";
import { factOf, first, type Versioned } from "../../events/fact.ts";
import { lookAgain } from "../../events/follow.ts";
import { lostRace, type Origin } from "../../events/log.ts";
import type { Language } from "../../messages/catalogue.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { inForce, userInForce } from "../callers/in_force.ts";
import { nameAsked, nameKey, qualifiedName, userNamed } from "../callers/login_name.ts";
import { policyOfUserColumn } from "../policies/policy.ts";
import { type MailSettings, mailSecret } from "../verification/mail.ts";
import { type MailSends, mailSendsRead, mailWaitSeconds } from "../verification/mail_limits.ts";
import { newPasswordCode, resetSeconds } from "../verification/password_code.ts";
import { answerSignIn } from "./sign_in_mail.ts";

/**
 * Starts the worker that processes requests for mails to set a password or to sign in with. It looks up the accounts, so that a request
 * takes the same time whether or not one exists.
 */
export function startPasswordResets(deps: Deps, settings: MailSettings, onError: (error: unknown) => void) {
  const looking = lookAgain({ everyMs: 500, onError, look: () => answerRequests(deps, settings) });
  return { [Symbol.asyncDispose]: looking.stop };
}

const atOnce = 100;

/** Processes the waiting requests; returns whether there may be more. */
export async function answerRequests(deps: Deps, settings: MailSettings): Promise<boolean> {
  const taken = await take(deps.sql, atOnce);
  for (const request of taken) {
    await answer(deps, settings, request);
    await forget(deps.sql, request.id);
  }
  return taken.length === atOnce;
}

async function answer(deps: Deps, settings: MailSettings, request: ResetRequest): Promise<void> {
  const call = systemCall(request.callId ?? deps.ids(), request.origin ?? {});
  const { signInName } = request;
  if (signInName !== null) return answerSignIn(deps, settings, { request: { ...request, signInName }, call });
  let isAboutSomebody = false;
  for (const lookup of await lookupsOf(deps.sql, request))
    if (await answerLookup(deps, settings, { lookup, call })) isAboutSomebody = true;
  if (!isAboutSomebody) deps.noteAttempt({ case: "passwordResetRequested", value: {} }, undefined, call);
}

/** A lookup, for the call that asked for it. */
type Asked = { readonly lookup: Lookup; readonly call: Call };

/** Performs a lookup and sends the mail; false if it finds nobody. */
async function answerLookup(deps: Deps, settings: MailSettings, asked: Asked): Promise<boolean> {
  // Another mail to the address may win the race.
  for (let tries = 0; tries < 5; tries++) {
    const accounts = await accountsOf(deps.sql, asked.lookup);
    const [main] = accounts;
    if (!main) return false;
    if (await mailed(deps, settings, { ...asked, accounts: [main, ...accounts.slice(1)] })) return true;
  }
  return true;
}

/**
 * Decides how to look up accounts. A text that may be a login name or an address is looked up as both, with a mail for each: a user who
 * chose somebody's address as a username must neither intercept that person's mail nor get a code for their account.
 */
async function lookupsOf(sql: Sql, request: ResetRequest): Promise<readonly Lookup[]> {
  const { nameOrEmail, organizationId, language } = request;
  if (nameOrEmail === null) return [request];
  const name = nameKey({ loginName: nameOrEmail, organizationId: organizationId ?? undefined });
  const byName = { loginName: name.login_name, email: null, organizationId: name.organization, language };
  const [named] = await accountsOf(sql, byName);
  if (named?.email.toLowerCase() === nameOrEmail.toLowerCase()) return [byName];
  // The owner of a mailbox is reached there, whichever organization's page they are on.
  return [byName, { loginName: null, email: nameOrEmail, organizationId: null, language }];
}

type Found = Asked & { readonly accounts: readonly [Account, ...Account[]] };

/** Writes the mail with the codes of all accounts, as facts about attempts at them; false if a race was lost. */
async function mailed(deps: Deps, settings: MailSettings, { accounts, lookup, call }: Found): Promise<boolean> {
  const [main] = accounts;
  const sends = await mailSendsRead(deps.sql, { userId: main.id, email: main.email, purpose: "password" }, settings);
  if (!sends || mailWaitSeconds(sends, settings, deps.clock()) > 0) {
    deps.noteAttempt({ case: "passwordResetRequested", value: {} }, main, call);
    return true;
  }
  const facts = factsFor(deps, { accounts, email: main.email, language: lookup.language, nth: sends.nth });
  return deps.log.append(call, facts, true).catch(lostRace);
}

type ResetMail = Pick<MailSends, "nth"> & {
  readonly accounts: readonly Account[];
  readonly email: string;
  readonly language: Language;
};

function factsFor(deps: Deps, { accounts, email, language, nth }: ResetMail) {
  const now = deps.clock();
  const mailId = deps.ids();
  const expirationDate = new Date(now.getTime() + resetSeconds * 1000);
  const made = accounts.map((account) => {
    const id = deps.ids();
    return { account, id, ...newPasswordCode(deps, { id, email, mailId, expirationDate }) };
  });
  const codes = made.map(({ account, code }) => ({ loginName: account.qualifiedName, code }));
  const written = { kind: "reset_password", purpose: "password", email, language, codes, expirationDate, nth } as const;
  const mail = mailSecret(deps, mailId, written);
  return made.map(({ account, id, mailCode }, index) => {
    const value = { userId: account.id, passwordCodeId: id };
    const secret = index === 0 ? { mailCode, mail } : { mailCode };
    const at = first(account.owner, deps.ids(), now);
    return factOf("attempt", at, { case: "passwordResetRequested", value }, secret);
  });
}

type Lookup = {
  readonly loginName: string | null;
  readonly email: string | null;
  /** The organization in which the login name is looked up, the only one whose accounts count; null for the directory and all of them. */
  readonly organizationId: string | null;
  readonly language: Language;
};

type ResetRequest = Lookup & {
  readonly id: string;
  readonly nameOrEmail: string | null;
  readonly signInName: string | null;
  /** The hashes of the cookies by which the browser that asked for a code to sign in may be known. */
  readonly browsers: string | null;
  /** The id of the call, and where it came from; nodes of release 0.1.0 keep neither. */
  readonly callId: string | null;
  readonly origin: Origin | null;
};

/** Leases requests. A minute later, another node may take a request that was not processed because its node crashed. */
const take = (sql: Sql, most: number) => sql<ResetRequest[]>`
  with due as materialized (
    select request_id from password_reset_requests where due <= now() order by due limit ${most} for update skip locked
  )
  update password_reset_requests r set due = now() + interval '1 minute' from due d where r.request_id = d.request_id
  returning r.request_id as id, r.login_name as "loginName", r.email,
    r.name_or_email as "nameOrEmail", r.sign_in_name as "signInName", r.organization_id as "organizationId", r.language,
    r.browsers, r.call_id as "callId", r.origin`;

const forget = (sql: Sql, id: string) => sql`delete from password_reset_requests where request_id = ${id}`;

type Account = Pick<Versioned, "owner" | "id"> & { readonly qualifiedName: string; readonly email: string };

// An address with more accounts is nobody's mailbox.
const mostAccounts = 50;

/**
 * Finds the accounts that have the address, verified, or the address of the account with the login name. That account comes first, and its
 * address need not be verified unless the policy says so; the others follow, oldest first. So nobody can crowd out older accounts by giving
 * the address to many users of another organization.
 */
const accountsOf = (sql: Sql, { loginName, email, organizationId }: Lookup) => sql<Account[]>`
  with asked as (
    select * from jsonb_to_recordset(${keyOf(loginName, organizationId)}::text::jsonb) as asked (${sql.unsafe(nameAsked)})
  ), named as materialized (
    select v.user_id, lower(v.email) as email
    from asked join ${sql.unsafe(userNamed)} join users v on v.owner = l.owner and v.user_id = l.user_id
    where ${sql.unsafe(inForce("v"))}
      and (v.email_verified or not (${sql.unsafe(policyOfUserColumn("v"))}->>'resetRequiresVerifiedEmail')::boolean)
  ), found as (
    select n.user_id, 0 as place from named n
    union all (
      select u.user_id, 1 as place from users u join passwords p on p.user_id = u.user_id
      where u.email_verified and ${sql.unsafe(userInForce)}
        and lower(u.email) = coalesce(lower(${email}), (select n.email from named n))
        and (${organizationId}::text is null or u.owner = ${organizationId})
        and not exists (select from named n where n.user_id = u.user_id)
      order by u.created, u.user_id limit ${mostAccounts})
  )
  select u.user_id as id, u.owner, ${sql.unsafe(qualifiedName("u"))} as "qualifiedName", u.email
  from found f join users u on u.user_id = f.user_id join passwords p on p.user_id = u.user_id
  order by f.place, u.created, u.user_id limit ${mostAccounts}`;

/** The key of a login name as the question's only row; none without a name. */
const keyOf = (loginName: string | null, organizationId: string | null): string =>
  JSON.stringify(loginName === null ? [] : [nameKey({ loginName, organizationId: organizationId ?? undefined })]);
