import { refuse } from "../../errors.ts";
import { emailIsVouchedFor } from "../callers/login_name.ts";
import type { Audience } from "../policies/registration_policy.ts";

/** The people whom an organization lets register, and its relation to an address. */
export type Admission = {
  /** Null if the organization is gone, inactive, or has no policy. */
  readonly audience: Audience | null;
  /** Whether the organization has proven the domain of the address. */
  readonly isOwnDomain: boolean;
  /** The user of the organization who has the address, if any. */
  readonly knownAs: string | null;
};

/** The columns of an admission, for SQL expressions of the organization, the address and its domain. */
// The first user from the address on, in the order of the index: compared as a row, the columns fit only that index, whatever statistics
// the planner has, and releases of PostgreSQL before 18 would read on past an upper bound to the end of the organization.
export const admissionColumns = ({
  owner,
  email,
  domain,
}: Readonly<Record<"owner" | "email" | "domain", string>>): string => `
  (select p.audience from registration_policies p join organizations h on h.organization_id = p.owner
   where p.owner = ${owner} and h.active and not h.deleted) as audience,
  exists (select from domains d where d.name = ${domain} and d.owner = ${owner} and d.proven offset 0) as "isOwnDomain",
  (select f.user_id from (
     select u.user_id, u.owner, lower(u.email) as email from users u
     where (u.owner, lower(u.email)) >= (${owner}, lower(${email})) and ${emailIsVouchedFor("u")}
     order by u.owner, lower(u.email) limit 1) f
   where f.owner = ${owner} and f.email = lower(${email})) as "knownAs"`;

/** Refuses an address that may not register. This depends only on its domain, so it reveals nothing about persons. */
export function refuseOutsiders({ audience, isOwnDomain }: Admission): void {
  switch (audience) {
    case "REGISTRATION_AUDIENCE_EVERYBODY":
      return;
    case "REGISTRATION_AUDIENCE_PROVEN_DOMAINS":
      if (!isOwnDomain) throw refuse.because("REGISTRATION_DOMAIN");
      return;
    case "REGISTRATION_AUDIENCE_NOBODY":
    case null:
      throw refuse.because("REGISTRATION_CLOSED");
  }
}
