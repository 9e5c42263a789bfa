import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { OrganizationService } from "../../../gen/postern/v1/organization_pb.ts";
import { packageVersion } from "../../contract/package_folder.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../../deps.ts";
import { holding } from "../../guards/held_permissions.ts";
import type { Permission } from "../../guards/permissions.ts";
import type { Fragment, Sql } from "../../postgres/pool/connect.ts";

/** The counts of objects that need attention in an organization, and on the instance for callers who may read it. */
export const organizationOverview = ({ sql, clock }: Pick<Deps, "sql" | "clock">) =>
  ({
    async getOverview(_request, call) {
      const mayRead = permissionsIn(call);
      const [counts, instance] = await Promise.all([
        countsOf(sql, organizationOf(call), clock()),
        mayRead("instance.read") ? instanceOf(sql, clock()) : undefined,
      ]);
      return {
        ...(mayRead("user.read") && ofUsers(counts)),
        ...(mayRead("user.write") && ofTokens(counts)),
        ...(mayRead("app.read") && ofApplications(counts)),
        ...(instance && { instance: { ...ofInstance(instance), version: await packageVersion() } }),
      };
    },
  }) satisfies Partial<ServiceImpl<typeof OrganizationService>>;

/** Tells whether the caller has a permission in the whole organization that the call works in. */
function permissionsIn(call: Call) {
  const organization = organizationOf(call);
  return (permission: Permission): boolean =>
    holding(callerOf(call), permission).some(
      ({ scope, id }) => scope === "instance" || (scope === "organization" && id === organization),
    );
}

const most = 100;
const soonMs = 30 * 86_400_000;

/** Counts rows, but stops at one more than the response shows. */
const counted = (sql: Sql, rows: Fragment): Fragment =>
  sql`(select count(*)::int from (select from ${rows} limit ${most + 1}) counted)`;

const count = (rows: number) => ({ count: Math.min(rows, most), more: rows > most });

type Counts = Readonly<Record<"locked" | "invitations" | "tokens" | "secrets" | "notCompliant", number>>;

/** Counts the objects in an organization that need attention; the order of each part is that of the index that counts it. */
async function countsOf(sql: Sql, owner: string, now: Date): Promise<Counts> {
  const soon = new Date(now.getTime() + soonMs);
  const [counts] = await sql<[Counts]>`
    select ${counted(
      sql,
      sql`all_users u where u.owner = ${owner} and u.locked and u.active and not u.deleted
            and coalesce(u.locked_until, 'infinity') > ${now} order by coalesce(u.locked_until, 'infinity')`,
    )} as locked,
      ${counted(
        sql,
        sql`invitations v where v.owner = ${owner} and v.expiration_date > ${now} order by v.expiration_date`,
      )} as invitations,
      ${counted(
        sql,
        sql`access_tokens t where t.owner = ${owner} and t.expiration_date > ${now} and t.expiration_date <= ${soon}
            order by t.expiration_date`,
      )} as tokens,
      ${counted(
        sql,
        sql`client_secrets s where s.owner = ${owner} and s.expiration_date > ${now} and s.expiration_date <= ${soon}
            order by s.expiration_date`,
      )} as secrets,
      ${counted(
        sql,
        // A project that a job is deleting hides its own.
        sql`applications a where a.owner collate "C" = ${owner} and cardinality(a.compliance_problems) > 0
              and exists (select from projects p where p.project_id = a.project_id offset 0)
            order by a.name, a.app_id`,
      )} as "notCompliant"`;
  return counts;
}

const ofUsers = ({ locked, invitations }: Counts) => ({
  lockedUsers: count(locked),
  pendingInvitations: count(invitations),
});

/** Access tokens are listed with the permission to end them. */
const ofTokens = ({ tokens }: Counts) => ({ expiringAccessTokens: count(tokens) });

const ofApplications = ({ secrets, notCompliant }: Counts) => ({
  expiringClientSecrets: count(secrets),
  notCompliantApplications: count(notCompliant),
});

type Instance = Readonly<Record<"mails" | "sms" | "signOuts" | "migrationCount", number>> & {
  readonly latestMigration: string;
  /** The current signing keys, and the next ones. */
  readonly keys: readonly { readonly kid: string; readonly algorithm: string; readonly signsFrom: string }[];
};

const mostKeys = 20;

async function instanceOf(sql: Sql, now: Date): Promise<Instance> {
  const dead = (table: string) => counted(sql, sql`${sql.unsafe(table)} where dead is not null order by dead`);
  const [instance] = await sql<[Instance]>`
    select ${dead("mail_messages")} as mails, ${dead("sms_messages")} as sms, ${dead("logout_messages")} as "signOuts",
      (select count(*)::int from migrations) as "migrationCount",
      (select name from migrations order by name desc limit 1) as "latestMigration",
      (select coalesce(json_agg(json_build_object('kid', k.kid, 'algorithm', k.algorithm, 'signsFrom', k.signs_from)), '[]')
       from (select k.kid, k.algorithm, k.signs_from from signing_keys k
         where k.withdrawn is null and not exists (
           select from signing_keys n where n.algorithm = k.algorithm and n.version > k.version
             and n.withdrawn is null and n.signs_from <= ${now})
         order by k.algorithm, k.version limit ${mostKeys}) k) as keys`;
  return instance;
}

const ofInstance = ({ mails, sms, signOuts, keys, migrationCount, latestMigration }: Instance) => ({
  mailsGivenUp: count(mails),
  smsGivenUp: count(sms),
  signOutsGivenUp: count(signOuts),
  signingKeys: keys.map(({ signsFrom, ...key }) => ({ ...key, signsFrom: timestampFromDate(new Date(signsFrom)) })),
  migrationCount,
  latestMigration,
});
