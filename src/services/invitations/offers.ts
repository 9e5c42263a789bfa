import { fromJson } from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
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
import { grantedFact, prospectRead, unfit } from "../projects/project_grant.ts";
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
import { pastExpiration } from "../writing/expiration.ts";
import { deciderIn, type Offer, offering, unaccepted } from "../writing/offer.ts";

/** Roles in a project that an invitation offers; their end, if any, is in the JSON form. */
export type OfferedGrant = Pick<WantedGrant, "projectId" | "projectGrantId" | "roleKeys"> & {
  readonly expirationDate?: string;
};

/** The grant of a project that an invitation offers. */
type OfferedProjectGrant = {
  readonly projectId: string;
  readonly organizationId: string;
  readonly roleKeys: readonly string[];
};

/** The offers of an invitation. */
export type Offers = {
  readonly memberships: readonly OfferedMembership[];
  readonly grants: readonly OfferedGrant[];
  readonly projectGrant?: OfferedProjectGrant | null;
};

/** The offers of an organization, the inviter, and the user who would get them, if known. */
export type Giving = {
  readonly owner: string;
  readonly by: Pick<Caller, "memberships">;
  readonly userId?: string | undefined;
  readonly offers: Offers;
  readonly now: Date;
  /** The path of the offers in the request. */
  readonly path: string;
};

/** An offer, and the reason why it cannot be given, if any. */
export type JudgedMembership = {
  readonly membership: OfferedMembership;
  readonly findings: MembershipFindings | undefined;
  readonly no: No | undefined;
};
export type JudgedGrant = {
  readonly grant: OfferedGrant;
  readonly findings: GrantFindings | undefined;
  readonly no: No | undefined;
};
type JudgedProjectGrant = { readonly projectGrant: OfferedProjectGrant; readonly no: No | undefined };
export type Judged = {
  readonly memberships: readonly JudgedMembership[];
  readonly grants: readonly JudgedGrant[];
  readonly projectGrants: readonly JudgedProjectGrant[];
};

/** Decides which offers can be given. The inviter's rights are checked first, so that the other checks tell nobody what exists. */
export async function judge(sql: Sql, givings: readonly Giving[]): Promise<Judged[]> {
  const [memberships, grants, projectGrants] = await Promise.all([
    membershipsFound(sql, givings),
    grantsFound(sql, givings),
    Promise.all(givings.map((giving) => judgedProjectGrants(sql, giving))),
  ]);
  return givings.map((giving, n) => ({
    projectGrants: projectGrants[n] ?? [],
    memberships: giving.offers.memberships.map((membership, at) => {
      const findings = memberships[n]?.[at];
      const place = { path: `${giving.path}memberships[${at}].`, userId: giving.userId };
      const no = beyond(lackingFor(giving, membership), place.path) ?? refusedMembership(membership, findings, place);
      return { membership, findings, no };
    }),
    grants: giving.offers.grants.map((grant, at) => {
      const [path, findings] = [`${giving.path}grants[${at}].`, grants[n]?.[at]];
      const no = beyond(lackingForGrant(giving, grant), path) ?? refusedGrant(giving, grant, { findings, path });
      return { grant, findings, no };
    }),
  }));
}

/** Decides about the grant of a project, of which an invitation offers at most one. */
async function judgedProjectGrants(sql: Sql, { owner, by, offers }: Giving): Promise<JudgedProjectGrant[]> {
  const { projectGrant } = offers;
  if (!projectGrant) return [];
  const there = { scope: "project", id: projectGrant.projectId, organization: owner, roles: [] } as const;
  const lacking = holdsThere(by, "project.grant.write", there) ? undefined : "project.grant.write";
  const key = prospectKeyOf(owner, projectGrant);
  return [{ projectGrant, no: beyond(lacking, "projectGrant.") ?? unfit(key, await prospectRead(sql)(key)) }];
}

const prospectKeyOf = (owner: string, { projectId, organizationId, roleKeys }: OfferedProjectGrant) => ({
  owner,
  project: projectId,
  granted: organizationId,
  keys: [...roleKeys],
});

export const refusalsOf = ({ memberships, grants, projectGrants }: Judged): readonly No[] =>
  [...memberships, ...grants, ...projectGrants].flatMap(({ no }) => no ?? []);

/** Finds a permission that the inviter lacks to give a membership: to add members there, or one that its roles give. */
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
  if (pastExpiration(wanted.expirationDate, giving.now).length > 0) return expired(grant, path);
  return giving.userId === undefined ? refusedInProject(wanted, findings, path) : refusalOf(wanted, findings, path);
}

const expired = ({ projectId }: OfferedGrant, path: string): No => ({
  reason: "OFFER_EXPIRED",
  field: `${path}expirationDate`,
  params: { projectId },
});

const wantedBy = ({ owner, userId = "" }: Pick<Giving, "owner" | "userId">, grant: OfferedGrant): WantedGrant => ({
  ...grant,
  owner,
  userId,
  expirationDate: expirationOf(grant),
});

/** The end of an offered grant, as messages have it. */
export const expirationOf = ({ expirationDate }: OfferedGrant): Timestamp | undefined =>
  expirationDate === undefined ? undefined : fromJson(TimestampSchema, expirationDate);

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

/** The user who gets the offers of an invitation, and the inviter who vouches for it. */
type Getting = {
  readonly owner: string;
  readonly userId: string;
  readonly invitationId: string;
  readonly inviterId: string;
  /** The organization that the caller accepts for; absent if users accept for themselves. */
  readonly acceptedBy?: string;
};

/** An offer that was not given, and the reason. */
export type NotGiven = { readonly membership?: OfferedMembership; readonly grant?: OfferedGrant; readonly no: No };

/** The facts that give the offers or pass them on to the user's organization, and those that nobody gets yet. */
type Given = {
  readonly facts: readonly NewFact[];
  readonly notGiven: readonly NotGiven[];
  /** The number of tokens and codes that end. */
  readonly ended: number;
};

/** Makes the facts that give the offers; an offer that an organization has to accept first is passed on to it. */
export function givingFacts(deps: Deps) {
  const { ids, clock } = deps;
  const [outgrown, decideOffers] = [outgrownBy(deps), offering(deps)];

  return async (getting: Getting, judged: Judged, call: Call): Promise<Given> => {
    const waiting = waitingIn(getting, judged, call);
    const offered = await decideOffers(waiting.map(({ offer }) => offer));
    const waits = new Set(waiting.map(({ one }) => one));
    const members = await Promise.all(
      judged.memberships.filter((one) => !one.no && !waits.has(one)).map((one) => member(getting, one, call)),
    );
    const grants = judged.grants.filter((one) => !one.no && !waits.has(one)).map((one) => granted(getting, one));
    const projectGrants = judged.projectGrants.filter(({ no }) => !no).map((one) => lent(getting, one));
    return {
      facts: [
        ...members.map(({ fact }) => fact),
        ...grants,
        ...projectGrants,
        ...offered.flatMap(({ fact }) => fact ?? []),
      ],
      notGiven: waiting.map(({ one }, n) => ({ ...shownIn(one), no: offered[n]?.no ?? unaccepted("") })),
      ended: members.reduce((sum, { count }) => sum + count, 0),
    };
  };

  async function member(
    { owner, userId, invitationId }: Getting,
    { membership, findings }: JudgedMembership,
    call: Call,
  ) {
    const target = targetOf(objectOfOffer(owner, membership), membership.roles);
    const { count, secret } = await outgrown({ userId, target }, call);
    const { projectId = null } = findings ?? {};
    return { count, fact: acceptedMembership(at(owner), membership, { userId, invitationId, secret, projectId }) };
  }

  function granted({ owner, userId, invitationId }: Getting, { grant }: JudgedGrant): NewFact {
    return addedFact(at(owner), wantedBy({ owner, userId }, grant), invitationId);
  }

  function lent({ owner, invitationId }: Getting, { projectGrant }: JudgedProjectGrant): NewFact {
    return grantedFact(at(owner), prospectKeyOf(owner, projectGrant), invitationId);
  }

  function at(owner: string) {
    return first(owner, ids(), clock());
  }
}

type Waiting = { readonly one: JudgedMembership | JudgedGrant; readonly offer: Offer };

/** Finds the offers that could be given, but that somebody other than the caller has to accept first. */
function waitingIn(getting: Getting, { memberships, grants }: Judged, call: Call): Waiting[] {
  const { owner, userId, inviterId, acceptedBy } = getting;
  return [...memberships, ...grants].flatMap((one): Waiting[] => {
    const { no, findings } = one;
    const receiver = no || !findings ? undefined : deciderIn(findings, call);
    if (receiver === undefined || receiver === acceptedBy) return [];
    const offered =
      "grant" in one
        ? { grant: { ...one.grant, expirationDate: expirationOf(one.grant) } }
        : { membership: placed(one) };
    const offeredAs = findings?.offeredAs ?? null;
    return [{ one, offer: { owner, receiver, offeredAs, path: "", userId, inviterId, ...offered } }];
  });
}

/** An offered membership with the project that its object belongs to. */
const placed = ({ membership, findings }: JudgedMembership): OfferedMembership => ({
  ...membership,
  projectId: findings?.projectId ?? "",
});

const shownIn = (one: JudgedMembership | JudgedGrant) =>
  "grant" in one ? { grant: one.grant } : { membership: one.membership };
