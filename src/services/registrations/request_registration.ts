import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { type RegistrationService, RequestRegistrationRequestSchema } from "../../../gen/postern/v1/registration_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { factOf, first, type NewFact, next, type Versioned } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { messageRule } from "../../rules.ts";
import { hashToken } from "../../security/token.ts";
import { canonicalDomain } from "../callers/canonical_domain.ts";
import { countNetwork } from "../callers/network_rate.ts";
import { wrongInEmail } from "../verification/email_address.ts";
import { joiningMails } from "../verification/joining_mail.ts";
import {
  type JoiningSends,
  joiningSendsColumns,
  mostMails,
  refusedMore,
  refusedSend,
  sentBy,
  windowStart,
} from "../verification/joining_mail_limits.ts";
import type { MailSettings } from "../verification/mail.ts";
import { emailCodeSeconds } from "../verification/mail_code.ts";
import { type Admission, admissionColumns, refuseOutsiders } from "./registration_audience.ts";

/** The maximum number of requests for mails from one address per minute on this node; 0 sets no limit. */
export type RequestSettings = MailSettings & { readonly passwordResetsPerAddressPerMinute: number };

/** The organization and the address to register, and the cookie of the browser that asks; a call has none. */
export type AskedRegistration = Readonly<Record<"organizationId" | "email", string>> & { readonly browser?: string };

/** The number of an organization's mails that one network can request within the window, on each node: a tenth of all. */
const mostOfNetwork = mostMails / 10;

export type RegistrationRequests = ReturnType<typeof registrationRequests>;

/**
 * Makes the request for a mail to register with. Whether a user has the address changes neither the response nor its cost: one statement
 * reads, and one writes the mail with its fact.
 */
export function registrationRequests(deps: Deps, settings: RequestSettings) {
  const { log, sql, clock, failureRate, noteAttempt } = deps;
  const read = askedRead(sql, settings);
  const requests = failureRate("registrations", settings.passwordResetsPerAddressPerMinute);
  const perMinute = (mostOfNetwork * 60) / settings.mailSendWindowSeconds;
  const mails = failureRate("registration mails", perMinute, mostOfNetwork);
  const factFor = requestFacts(deps, settings);

  return async (asked: AskedRegistration, call: Call): Promise<void> => {
    countNetwork(requests, call);
    const { organizationId: owner, email } = asked;
    const [now, since] = [clock(), windowStart(settings, clock()).toISOString()];
    const found = await read({ owner, email, domain: domainOf(email), since }, call.signal);
    if (!found) throw new Error("sends are always counted");
    refuseOutsiders(found);
    // Otherwise one network could use up the mails of an organization, and nobody else could register.
    countNetwork(mails, call, owner);
    const no = refusedMore(found.sent, settings, "");
    if (no) throw refuse.because(no.reason, no);
    if (!refusedSend(found, { settings, now }, "")) return log.append(call, [factFor(found, asked, call)], undefined);
    noteAttempt({ case: "registrationRequested", value: {} }, aboutOf(found, owner), call);
  };
}

const aboutOf = ({ knownAs: id }: Admission, owner: string) => (id === null ? undefined : { owner, id });

const domainOf = (email: string): string => canonicalDomain(email.slice(email.lastIndexOf("@") + 1)) ?? "";

/** Makes the fact of a request, with its mail: a code for people without an account; for others, the notice that they have one. */
function requestFacts(deps: Deps, settings: MailSettings) {
  const { ids, clock } = deps;
  const mails = joiningMails(deps, settings);
  return (found: Found, { organizationId: owner, email, browser }: AskedRegistration, call: Call): NewFact => {
    const { organizationName, nth, knownAs } = found;
    const of = { email, organizationName, nth, purpose: "registration", seconds: emailCodeSeconds } as const;
    if (knownAs !== null) {
      const value = { userId: knownAs };
      const secret = mails.withoutCode({ ...of, kind: "registration_known" }, call);
      return factOf("attempt", first(owner, ids(), clock()), { case: "registrationRequested", value }, secret);
    }
    const hash = browser === undefined ? undefined : hashToken(browser).toString("hex");
    const { expirationDate: date, secret } = mails.withCode({ ...of, kind: "registration", browser: hash }, call);
    const value = { expirationDate: timestampFromDate(date) };
    const asking = { ...secret, email };
    return isPending(found)
      ? factOf("registration", next(found, clock()), { case: "resent", value }, asking)
      : factOf("registration", first(owner, ids(), clock()), { case: "created", value }, asking);
  };
}

type Pending = Versioned;
type Nothing = { readonly [K in keyof Versioned]: null };

/** The state that decides about a request: who may register, the existing registration of the address, and the use of the limits. */
type Found = Admission &
  JoiningSends &
  (Pending | Nothing) & { readonly organizationName: string; readonly sent: number };

const isPending = (found: Found): found is Found & Pending => found.id !== null;

const askedRead = (sql: Sql, settings: MailSettings) =>
  loadOne<Readonly<Record<"owner" | "email" | "domain" | "since", string>>, Found>(sql, {
    asked: "owner text, email text, domain text, since timestamptz",
    select: `select n, coalesce((select o.name from organizations o where o.organization_id = asked.owner), '') as "organizationName",
      r.registration_id as id, r.owner, r.version, r.created, r.changed,
      ${admissionColumns({ owner: "asked.owner", email: "asked.email", domain: "asked.domain" })},
      ${sentBy("asked.owner", "registration", "asked.since")} as sent,
      ${joiningSendsColumns("asked.email", "registration", settings)}
      from asked
      left join registration_addresses a on a.owner = asked.owner and lower(a.email) = lower(asked.email)
      left join registrations r on r.registration_id = a.registration_id`,
  });

export const registrationRules = [messageRule(RequestRegistrationRequestSchema, ({ email }) => wrongInEmail(email))];

/** The call that asks to register. */
export const registrationRequestCalls = (request: RegistrationRequests) =>
  ({
    async requestRegistration({ organizationId, email }, call) {
      await request({ organizationId, email }, call);
      return {};
    },
  }) satisfies Partial<ServiceImpl<typeof RegistrationService>>;
