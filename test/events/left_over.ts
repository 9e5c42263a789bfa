import { expiredEvents } from "../../src/events/retention.ts";
import type { Sql } from "../../src/postgres/pool/connect.ts";

/** The nouns of objects that are gone although the log has events of them that a policy deletes. */
async function leftOver(sql: Sql): Promise<string[]> {
  const tables = {
    ...{ user: "all_users.user_id", session: "sessions.session_id", access_token: "access_tokens.token_id" },
    machine_credential: "machine_credentials.credential_id",
    ...{ project: "all_projects.project_id", project_grant: "all_project_grants.project_grant_id" },
    ...{ user_grant: "user_grants.user_grant_id", member: "members.member_id", consent: "consents.consent_id" },
    ...{ subscription: "subscriptions.subscription_id", domain: "domains.domain_id" },
    ...{ invitation: "invitations.invitation_id", registration: "registrations.registration_id" },
  };
  const living = Object.entries(tables).map(([noun, column]) => {
    const [table, id] = column.split(".");
    return `select '${noun}' as noun, ${id} as id from ${table}`;
  });
  const rows = await sql.unsafe<{ noun: string }[]>(`
    with living as (${living.join(" union all ")})
    select distinct split_part(type, '.', 1) as noun from events e
    where not exists (select from living l where l.noun = split_part(e.type, '.', 1) and l.id = e.stream)
      and not exists (select from all_users u where type like 'factor.%' and u.user_id = e.about_user_id)`);
  const always = ["instance", "organization", "application", "policy", "signing_key"];
  return rows.map(({ noun }) => noun).filter((noun) => !always.includes(noun));
}

/** Deletes expired events, at most so many batches of each kind. */
export async function expire(sql: Sql, rounds: number): Promise<void> {
  for (const { batch } of expiredEvents(sql, () => new Date()))
    for (let round = 0; round < rounds; round++) if ((await batch(37)) < 37) break;
}

/** What is left over once all expired events have been deleted. */
export async function leftAfter(sql: Sql): Promise<string[]> {
  await expire(sql, Number.POSITIVE_INFINITY);
  return leftOver(sql);
}
