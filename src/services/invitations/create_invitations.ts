import { type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { TimestampSchema, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type CreateInvitationOutcomeSchema,
  type CreateInvitationsRequest,
  CreateInvitationsRequestSchema,
  type InvitationItem,
  type InvitationService,
} from "../../../gen/postern/v1/invitation_pb.ts";
import { type Call, callerOf, type Deps, keys, organizationOf } from "../../deps.ts";
import { reasonOf, refuse, type Violation } from "../../errors.ts";
import { type At, detailsAfter, factOf, first, type NewFact } from "../../events/fact.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { itemsRule, lateRule } from "../../rules.ts";
import { mapInPieces } from "../../security/pieces.ts";
import { foreign } from "../members/member.ts";
import { type OfferedMembership, objectOfOffer } from "../members/offered_membership.ts";
import { wrongInEmail } from "../verification/email_address.ts";
import {
  type JoiningSends,
  joiningSendsColumns,
  refusedMore,
  refusedSend,
  type Within,
} from "../verification/joining_mail_limits.ts";
import type { MailSettings } from "../verification/mail.ts";
import {
  allEnded,
  joined,
  malformed,
  type No,
  refuseBatch,
  refusedOutcome,
  violationsByItem,
  violationsOf,
} from "../writing/batch_refusal.ts";
import { pastExpiration } from "../writing/expiration.ts";
import { mostInvitations } from "../writing/offer.ts";
import { invitationMails, type OrganizationUse, useOf } from "./invitation_mail.ts";
import { offersShown } from "./invitation_row.ts";
import { judge, type Offers, refusalsOf } from "./offers.ts";

/** An item with its path and its violations. */
type Item = { readonly email: string; readonly path: string; readonly wrong: readonly Violation[] };

/** An item and its outcome: the fact that invites, or the reason for refusing it. */
type Decided = Item &
  (
    | { readonly fact: NewFact; readonly expirationDate: Date; readonly no?: undefined }
    | { readonly no: No; readonly fact?: undefined }
  );

type ItemOutcome = MessageInitShape<typeof CreateInvitationOutcomeSchema>;

/** Inviting many people at once. */
export const invitationBatch = (deps: Deps, settings: MailSettings) => {
  const { log } = deps;
  const decideAll = deciding(deps, settings);

  return {
    async createInvitations({ items: asked, allOrNothing, ...request }, call) {
      const offers = offersOf(request);
      const no = await refusedOffers(deps, offers, call);
      if (no) throw refuse.because(no.reason, no);
      const decided = await decideAll(itemsOf(asked, call.values.get(keys.wrongItems)), offers, call);
      if (allOrNothing) refuseBatch(decided.flatMap((one) => one.no ?? []));
      const answer = await answerOf(decided, call);
      return log.append(call, factsIn(decided), answer).catch((error: unknown) => {
        // A request with an idempotency key is written together with its record or not at all, and then retried as a whole.
        const keyed = call.values.get(keys.idempotency) !== undefined;
        if (allOrNothing || keyed || reasonOf(error) !== "CONFLICT") throw error;
        return oneByOne(decided, offers, call);
      });
    },
  } satisfies Pick<ServiceImpl<typeof InvitationService>, "createInvitations">;

  /** Invites each separately, after one of them lost a race. */
  async function oneByOne(decided: readonly Decided[], offers: Offers, call: Call) {
    const settled = await allEnded(decided.map((item) => (item.no ? item : inviteAlone(item, offers, call))));
    return log.append(call, [], await answerOf(settled, call));
  }

  async function inviteAlone({ email, path, wrong }: Decided, offers: Offers, call: Call): Promise<Decided> {
    const item = { email, path, wrong };
    for (let tries = 5; ; tries--) {
      const [again] = await decideAll([item], offers, call);
      if (!again?.fact) return again ?? { ...item, no: lostTo(path) };
      try {
        return await log.append(call, [again.fact], again);
      } catch (error) {
        if (reasonOf(error) !== "CONFLICT") throw error;
        if (tries === 1) return { ...item, no: lostTo(path) };
      }
    }
  }
};

type Offering = Pick<Deps, "sql" | "clock">;

/** Finds why the caller cannot make an offer: they may not give it, or it does not exist. */
async function refusedOffers({ sql, clock }: Offering, offers: Offers, call: Call): Promise<No | undefined> {
  const giving = { owner: organizationOf(call), by: callerOf(call), offers, now: clock(), path: "" };
  const [judged] = await judge(sql, [giving]);
  return judged && joined(refusalsOf(judged));
}

/** Makes the decision about each item of a request: the fact that invites, or the reason for refusing it. */
function deciding(deps: Deps, settings: MailSettings) {
  const { sql, clock } = deps;
  const invited = inviting(deps, settings);

  return async (items: readonly Item[], offers: Offers, call: Call): Promise<Decided[]> => {
    const owner = organizationOf(call);
    const within = { settings, now: clock() };
    const [addresses, use] = await Promise.all([
      addressesFound(sql, { owner, items, settings }),
      useOf(sql, owner, within),
    ]);
    const limits = limitsOf(use, settings);
    const repeated = repeatedIn(items);
    return mapInPieces(items, (item, n): Decided => {
      const no =
        malformedItem(item, repeated[n]) ?? repeated[n] ?? refusedAddress(addresses[n], item, within) ?? limits(item);
      return no ? { ...item, no } : { ...item, ...invited(item, { call, offers, use, nth: addresses[n]?.nth ?? 1n }) };
    });
  };
}

const malformedItem = ({ wrong }: Item, late: No | undefined): No | undefined =>
  malformed(wrong.length > 0 ? [...wrong, ...(late ? violationsOf(late) : [])] : []);

/** Finds why an address cannot be invited: it already is, or it may get no more mails. */
function refusedAddress(address: Address | undefined, { path }: Item, within: Within): No | undefined {
  const field = `${path}email`;
  const invitationId = address?.knownAs;
  if (!invitationId) return address && refusedSend(address, within, field);
  const reason = "INVITATION_EXISTS";
  const violations: Violation[] = [{ field, text: reason, reason }];
  return { reason, field, params: { invitationId }, violations, resource: { noun: "invitation", id: invitationId } };
}

/** Makes the fact that invites. */
function inviting(deps: Deps, settings: MailSettings) {
  const { ids, clock } = deps;
  const mailOf = invitationMails(deps, settings);
  return ({ email }: Item, { call, offers, use, nth }: Inviting) => {
    const { expirationDate, secret } = mailOf({ email, organizationName: use.name, nth }, call);
    const at = first(organizationOf(call), ids(), clock());
    const value = { ...offersShown(offers), expirationDate: timestampFromDate(expirationDate) };
    return { expirationDate, fact: factOf("invitation", at, { case: "created", value }, { email, ...secret }) };
  };
}

type Inviting = { readonly call: Call; readonly offers: Offers; readonly use: OrganizationUse; readonly nth: bigint };

const lostTo = (path: string): No => ({ reason: "CONFLICT", field: path.replace(/\.$/, "") });

/** Counts how many items can be invited, up to the limits of the organization. */
function limitsOf({ invitations, sent }: OrganizationUse, settings: MailSettings): (item: Item) => No | undefined {
  let more = 0;
  return ({ path }) => {
    const field = `${path}email`;
    const no =
      refusedMore(sent + more, settings, field) ?? (invitations + more >= mostInvitations ? limit(field) : undefined);
    if (!no) more += 1;
    return no;
  };
}

const limit = (field: string): No => ({
  reason: "INVITATION_LIMIT",
  field,
  params: { limit: String(mostInvitations) },
});

type Address = JoiningSends & {
  /** The id of the address's existing invitation. */
  readonly knownAs: string | null;
};

type AddressQuery = { readonly owner: string; readonly items: readonly Item[]; readonly settings: MailSettings };

/** Reads the valid addresses, in a statement of its own: hundreds would delay other callers of a shared one. */
async function addressesFound(sql: Sql, { owner, items, settings }: AddressQuery): Promise<Address[]> {
  // Not every text that fails as an address can be read by PostgreSQL.
  const asked = JSON.stringify(
    items.map(({ email, wrong }, n) => ({ n, owner, email: wrong.length > 0 ? "" : email })),
  );
  return await sql<Address[]>`
    with asked as materialized (
      select * from jsonb_to_recordset(${asked}::text::jsonb) as asked (n integer, owner text, email text)
    )
    select n, (
        select a.invitation_id from invitation_addresses a
        where a.owner = asked.owner and lower(a.email) = lower(asked.email)) as "knownAs",
      ${sql.unsafe(joiningSendsColumns("asked.email", "invitation", settings))}
    from asked order by n`;
}

/** Late rules for requests to invite: offered objects must exist, and with `allOrNothing`, any invalid item fails the whole request. */
export function invitationBatchLateRules(deps: Offering) {
  return [
    lateRule(CreateInvitationsRequestSchema, ["memberships", "grants"], async (request, call: Call) => {
      const no = await refusedOffers(deps, offersOf(request), call);
      return no ? violationsOf(no) : [];
    }),
    lateRule(CreateInvitationsRequestSchema, [], async ({ items, allOrNothing }, _call: Call, wrong) => {
      // Otherwise each item has an outcome of its own. A list that is too long is not checked.
      if (!allOrNothing || wrong.some(({ field }) => field === "items")) return [];
      return repeatedIn(itemsOf(items, wrong)).flatMap((no) => (no ? violationsOf(no) : []));
    }),
  ];
}

/** Cross-field rules of requests to invite. */
export const invitationBatchRules = ({ clock }: Pick<Deps, "clock">) => [
  itemsRule(CreateInvitationsRequestSchema, function* ({ items, memberships, grants }) {
    for (const [n, { email }] of items.entries())
      yield wrongInEmail(email).map((one) => ({ ...one, field: `items[${n}].${one.field}` }));
    yield [
      ...wrongInMemberships(memberships),
      ...repeats(
        "grants",
        grants.map(({ projectId }) => projectId),
      ),
      ...grants.flatMap(({ expirationDate }, at) =>
        pastExpiration(expirationDate, clock()).map((one) => ({ ...one, field: `grants[${at}].${one.field}` })),
      ),
    ];
  }),
];

function wrongInMemberships(memberships: readonly OfferedMembership[]): Violation[] {
  const foreignRoles = memberships.flatMap((offer, at) =>
    foreign(offer.roles, objectOfOffer("", offer).scope).map((one) => ({
      ...one,
      field: `memberships[${at}].${one.field}`,
    })),
  );
  return [
    ...foreignRoles,
    ...repeats(
      "memberships",
      memberships.map((offer) => objectOfOffer("", offer).id),
    ),
  ];
}

/** Finds offers of the same object as an earlier one. */
function repeats(list: string, ids: readonly string[]): Violation[] {
  return ids.flatMap((id, at) => {
    const before = ids.indexOf(id);
    const params = { other: `${list}[${before}]` };
    return before === at ? [] : { field: `${list}[${at}]`, text: "ITEM_REPEATED", params, reason: "REPEATED" };
  });
}

const offersOf = ({ memberships, grants }: Pick<CreateInvitationsRequest, "memberships" | "grants">): Offers => ({
  memberships: memberships.map(({ roles, projectId, projectGrantId }) => ({ roles, projectId, projectGrantId })),
  grants: grants.map(({ projectId, projectGrantId, roleKeys, expirationDate }) => ({
    projectId,
    projectGrantId,
    roleKeys,
    ...(expirationDate && { expirationDate: toJson(TimestampSchema, expirationDate) }),
  })),
});

function itemsOf(items: readonly InvitationItem[], found: readonly Violation[]): Item[] {
  const wrongIn = violationsByItem(found);
  return items.map(({ email }, n) => {
    const path = `items[${n}].`;
    return { email, path, wrong: wrongIn(path) };
  });
}

/** Finds the items with the address of an earlier one. */
function repeatedIn(items: readonly Item[]): (No | undefined)[] {
  const seen = new Map<string, string>();
  return items.map(({ email, path }) => {
    const [name, field] = [email.toLowerCase(), `${path}email`];
    const other = seen.get(name);
    if (other === undefined) seen.set(name, field);
    return other === undefined ? undefined : repeated(field, other);
  });
}

function repeated(field: string, other: string): No {
  const violations: Violation[] = [{ field, text: "ITEM_REPEATED", params: { other }, reason: "REPEATED" }];
  return { reason: "VALIDATION_FAILED", field, params: { fields: field }, violations };
}

// Addresses are written in order, so that two batches cannot deadlock.
const factsIn = (decided: readonly Decided[]): NewFact[] =>
  decided
    .flatMap(({ fact, email }) => (fact ? [{ fact, name: email.toLowerCase() }] : []))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ fact }) => fact);

async function answerOf(decided: readonly Decided[], call: Call) {
  const refused = refusedOutcome(call);
  return {
    outcomes: await mapInPieces(decided, (item) =>
      item.fact ? created(item.fact.at, item.expirationDate) : refused(item.no),
    ),
  };
}

const created = (at: At, expirationDate: Date): ItemOutcome => ({
  outcome: {
    case: "created",
    value: { invitationId: at.stream, details: detailsAfter(at), expirationDate: timestampFromDate(expirationDate) },
  },
});
