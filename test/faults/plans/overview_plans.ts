import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { GetOverviewRequestSchema } from "../../../gen/postern/v1/organization_pb.ts";
import { keys } from "../../../src/deps.ts";
import { organizationOverview } from "../../../src/services/organizations/overview.ts";
import { openClient } from "../../fixture/database_client.ts";
import { askedBy, callIn, found, planAsTheService } from "../../plans/plan.ts";
import type { PlanServer } from "../plan_server.ts";

// Of each kind an organization has thousands that count and thousands that are over, and so has each of many others.
const filling = `
  insert into organizations (organization_id, name, version, created, changed)
  select 'o' || n, 'Organization ' || n, 1, now(), now() from generate_series(0, 99) n;
  insert into users (owner, user_id, kind, username, locked, locked_until, version, created, changed)
  select 'o' || case when n > 6000 then n % 100 else 0 end, 'u' || n, 'human', 'u' || n, n % 3 > 0,
    now() + case n % 3 when 1 then interval '1 hour' else -interval '1 hour' end, 1, now(), now() from generate_series(1, 20000) n;
  insert into invitations (owner, invitation_id, inviter_id, memberships, grants, expiration_date, version, created, changed)
  select 'o' || case when n > 900 then n % 100 else 0 end, 'i' || n, 'u1', '[]', '[]',
    now() + case n % 2 when 1 then interval '1 day' else -interval '1 day' end, 1, now(), now() from generate_series(1, 20000) n;
  insert into access_tokens (owner, token_id, user_id, expiration_date, version, created, changed)
  select 'o' || case when n > 9000 then n % 100 else 0 end, 't' || n, 'u' || n,
    now() + (n % 3 - 1) * interval '20 days' + (n % 2) * interval '20 days', 1, now(), now() from generate_series(1, 20000) n;
  insert into client_secrets (app_id, hash, owner, expiration_date)
  select 'a' || n, sha256(n::text::bytea), 'o' || case when n > 9000 then n % 100 else 0 end,
    case when n % 2 = 1 then now() + (n % 3 - 1) * interval '20 days' + interval '1 day' end from generate_series(1, 20000) n;
  insert into projects (owner, project_id, name, version, created, changed)
  select 'o' || n, 'p' || n, 'Project ' || n, 1, now(), now() from generate_series(0, 99) n;
  insert into applications (owner, app_id, project_id, name, client_id, oidc, version, created, changed, compliance_version, compliance_problems)
  select 'o' || o, 'a' || n, 'p' || o, 'Application ' || n, 'c' || n, '{}', 1, now(), now(), 1,
    case when n % 2 = 1 then '{NO_REDIRECT_URIS}' else '{}' end::text[]
  from generate_series(1, 20000) n cross join lateral (select case when n > 9000 then n % 100 else 0 end as o) o;
  insert into mail_messages (mail_id, owner, user_id, kind, email, language, expiration_date, created, dead)
  select 'm' || n, 'o0', 'u1', 'k', 'e', 'en', now(), now(), case when n % 2 = 1 then now() end from generate_series(1, 20000) n;
  insert into sms_messages (phone_code_id, owner, user_id, created, dead)
  select 's' || n, 'o0', 'u1', now(), case when n % 2 = 1 then now() end from generate_series(1, 20000) n;
  insert into logout_messages (session_id, owner, user_id, app_id, created, dead)
  select 's' || n, 'o0', 'u1', 'a', now(), case when n % 2 = 1 then now() end from generate_series(1, 20000) n`;

/** A call of an owner of the instance. */
function owner(userId: string) {
  const call = callIn("o0", userId);
  const memberships = [{ scope: "instance", id: "i", organization: "i", roles: ["INSTANCE_OWNER"] }] as const;
  call.values.set(keys.caller, { userId, organization: "o0", memberships });
  return call;
}

/** What other tables of the instance hold is little. */
const little = ["migrations", "signing_keys"];

/** Declares the test on a server. */
export function overviewPlans(server: () => PlanServer): void {
  test("each count of the overview reads 101 entries of its index, and their projects, by plans of an empty database and of a full one", async () => {
    const { url, adminId } = await server().fresh();
    await using database = openClient(url);
    const sql = database.client;
    await sql.unsafe(filling);
    await planAsTheService(sql);
    const statements = await askedBy(url, async (parts) => {
      const overview = organizationOverview(parts);
      const answer = await overview.getOverview(create(GetOverviewRequestSchema), owner(adminId));
      expect(answer).toMatchObject({
        lockedUsers: { count: 100, more: true },
        instance: { smsGivenUp: { more: true } },
      });
      expect(answer).toMatchObject({ pendingInvitations: { more: true }, expiringAccessTokens: { more: true } });
      expect(answer).toMatchObject({ expiringClientSecrets: { more: true } });
      expect(answer).toMatchObject({ notCompliantApplications: { more: true } });
    });
    expect(statements).toHaveLength(2);
    for (const plans of ["of an empty database", "of a full one"]) {
      if (plans === "of a full one") await sql.unsafe("vacuum analyze");
      for (const statement of statements) {
        const { whole, rows } = await found(sql, statement);
        expect(
          whole.filter((table) => !little.includes(table)),
          statement.text,
        ).toEqual([]);
        expect(rows, `${plans}: ${statement.text}`).toBeLessThanOrEqual(6 * 101 + 200);
      }
    }
  }, 300_000);
}
