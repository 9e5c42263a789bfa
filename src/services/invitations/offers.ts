import type { Call, Caller, Deps, Membership } from "../../deps.ts";
import { first, type NewFact } from "../../events/fact.ts";
import { holdsThere, uncovered } from "../../guards/missing_permission.ts";
import type { Permission } from "../../guards/permissions.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { outgrownBy } from "../members/ended_by_role.ts";
import { targetOf } from "../members/member.ts";
import {
  acceptedMembership,
  type MembershipFindings,
  membershipQuestion,
  type OfferedMembership,
  objectOfOffer,
  refusedMembership,
} from "../members/offered_membership.ts";
import {
  addedFact,
  findingsQuestion,
  type GrantFindings,
  lookupKeyOf,
  refusalOf,
  refusedInProject,
  type WantedGrant,
} from "../user_grants/add_user_grant.ts";
import type { No } from "../writing/batch_refusal.ts";

/** Roles in a project that an invitation offers. */
export type OfferedGrant = Pick<WantedGrant, "projectId" | "projectGrantId" | "roleKeys">;

/** What an invitation offers. */
export type Offers = { readonly memberships: readonly OfferedMembership[]; readonly grants: readonly OfferedGrant[] };

/** The offers of an organization, who would give them, and the user who would get them, if that is known. */
export type Giving = {
  readonly owner: string;
  readonly by: Pick<Caller, "memberships">;
  readonly userId?: string | undefined;
  readonly offers: Offers;
  /** The path of the offers in the request. */
  readonly path: string;
};

/** An offer, and why it cannot be given. */
export type JudgedMembership = {
  readonly membership: OfferedMembership;
  readonly findings: MembershipFindings | undefined;
  readonly no: No | undefined;
};
export type JudgedGrant = { readonly grant: OfferedGrant; readonly no: No | undefined };
export type Judged = { readonly memberships: readonly JudgedMembership[]; readonly grants: readonly JudgedGrant[] };

/** Decides which offers can be given. The rights of whoever gives them come first, so that the others tell nobody what exists. */
export async function judge(sql: Sql, givings: readonly Giving[]): Promise<Judged[]> {
  const [memberships, grants] = await Promise.all([membershipsFound(sql, givings), grantsFound(sql, givings)]);
  return givings.map((giving, n) => ({
    memberships: giving.offers.memberships.map((membership, at) => {
      const findings = memberships[n]?.[at];
      const place = { path: `${giving.path}memberships[${at}].`, userId: giving.userId };
      const no = beyond(lackingFor(giving, membership), place.path) ?? refusedMembership(membership, findings, place);
      return { membership, findings, no };
    }),
    grants: giving.offers.grants.map((grant, at) => {
      const path = `${giving.path}grants[${at}].`;
      return {
        grant,
        no:
          beyond(lackingForGrant(giving, grant), path) ??
          refusedGrant(giving, grant, { findings: grants[n]?.[at], path }),
      };
    }),
  }));
}

export const refusalsOf = ({ memberships, grants }: Judged): readonly No[] =>
  [...memberships, ...grants].flatMap(({ no }) => no ?? []);

/** Finds a permission that somebody lacks to give a membership: to add members there, or one that its roles give. */
function lackingFor({ by, owner }: Giving, offer: OfferedMembership): Permission | undefined {
  const target = targetOf(objectOfOffer(owner, offer), offer.roles);
  return holdsThere(by, "member.write", target) ? uncovered(by, [target])?.permission : "member.write";
}

function lackingForGrant({ by, owner }: Giving, { projectId, projectGrantId }: OfferedGrant): Permission | undefined {
  const of = { organization: owner, project: projectId, roles: [] };
  const target: Membership = projectGrantId
    ? { ...of, scope: "project_grant", id: projectGrantId }
    : { ...of, scope: "project", id: projectId };
  return holdsThere(by, "user.grant.write", target) ? undefined : "user.grant.write";
}

function beyond(permission: Permission | undefined, path: string): No | undefined {
  if (permission === undefined) return undefined;
  return { reason: "PERMISSION_DENIED", field: path.replace(/\.$/, ""), params: { permission, problem: "GIVES_MORE" } };
}

type FoundGrant = { readonly findings: GrantFindings | undefined; readonly path: string };

function refusedGrant(giving: Giving, grant: OfferedGrant, { findings, path }: FoundGrant): No | undefined {
  const wanted = wantedBy(giving, grant);
  return giving.userId === undefined ? refusedInProject(wanted, findings, path) : refusalOf(wanted, findings, path);
}

const wantedBy = ({ owner, userId = "" }: Pick<Giving, "owner" | "userId">, grant: OfferedGrant): WantedGrant => ({
  ...grant,
  owner,
  userId,
});

type Asked = { readonly n: number; readonly at: number };

// A batch reads its state in separate statements: hundreds of items would delay other callers of the shared one.
async function membershipsFound(sql: Sql, givings: readonly Giving[]): Promise<MembershipFindings[][]> {
  const asked = givings.flatMap(({ owner, userId = "", offers }, n) =>
    offers.memberships.map((offer, at) => ({ n, at, ...objectOfOffer(owner, offer), user: userId })),
  );
  return found<MembershipFindings>(sql, asked, membershipQuestion);
}

async function grantsFound(sql: Sql, givings: readonly Giving[]): Promise<GrantFindings[][]> {
  const asked = givings.flatMap((giving, n) =>
    giving.offers.grants.map((grant, at) => ({ n, at, ...lookupKeyOf(wantedBy(giving, grant)) })),
  );
  return found<GrantFindings>(sql, asked, findingsQuestion);
}

type OfferQuestion = { readonly asked: string; readonly select: string };

/** Asks a question about each offer; returns the findings by item and offer. */
async function found<R extends object>(sql: Sql, asked: readonly Asked[], question: OfferQuestion): Promise<R[][]> {
  if (asked.length === 0) return [];
  const numbered = JSON.stringify(asked.map((one, n) => ({ ...one, n })));
  const rows = await sql<(R & { n: number })[]>`
    with asked as materialized (
      select * from jsonb_to_recordset(${numbered}::text::jsonb) as asked (n integer, ${sql.unsafe(question.asked)})
    )
    ${sql.unsafe(question.select)}`;
  const byItem: R[][] = [];
  for (const row of rows) {
    const { n, at } = asked[row.n] as Asked;
    byItem[n] ??= [];
    (byItem[n] as R[])[at] = row;
  }
  return byItem;
}

/** The user who gets what an invitation offers. */
type Getting = { readonly owner: string; readonly userId: string; readonly invitationId: string };

/** Makes the facts that give what can be given. */
export function givingFacts(deps: Deps) {
  const { ids, clock } = deps;
  const outgrown = outgrownBy(deps);
  return async ({ owner, userId, invitationId }: Getting, judged: Judged, call: Call): Promise<NewFact[]> => {
    const at = () => first(owner, ids(), clock());
    const memberships = judged.memberships.flatMap(({ no, ...one }) => (no ? [] : one));
    const members = memberships.map(async ({ membership, findings }) => {
      const target = targetOf(objectOfOffer(owner, membership), membership.roles);
      const { secret } = await outgrown({ userId, target }, call);
      const { projectId = null } = findings ?? {};
      return acceptedMembership(at(), membership, { userId, invitationId, secret, projectId });
    });
    const grants = judged.grants.flatMap(({ no, grant }) =>
      no ? [] : addedFact(at(), wantedBy({ owner, userId }, grant), invitationId),
    );
    return [...(await Promise.all(members)), ...grants];
  };
}
