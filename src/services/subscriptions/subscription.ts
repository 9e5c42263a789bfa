import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  CreateSubscriptionRequestSchema,
  ListSubscriptionsRequestSchema,
  ReplaySubscriptionRequestSchema,
  type RotateSubscriptionSecretRequest,
  type SubscriptionService,
  SubscriptionUpdateSchema,
  UpdateSubscriptionRequestSchema,
} from "../../../gen/postern/v1/subscription_pb.ts";
import { type Call, type Deps, organizationOf } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { details, detailsAfter, factOf, first, next, plainFact } from "../../events/fact.ts";
import { parsePosition } from "../../events/position.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { messageRule } from "../../rules.ts";
import { begun, notAPosition, unfiltered, unknownTypes } from "../audit/event.ts";
import { cut, pageOf, pageRule } from "../reading/page.ts";
import { changesOf, refuseOvertaken, updateRule } from "../reading/update_mask.ts";
import { isOutgoingUri } from "../writing/outgoing_uri.ts";
import {
  isFull,
  mostSubscriptions,
  type SubscriptionRow,
  subscription,
  subscriptionRead,
  subscriptionsOf,
} from "./subscription_row.ts";
import { newSecret } from "./subscription_secret.ts";

export const subscriptionHandlers = ({ log, sql, clock, ids, secrets }: Deps) => {
  const found = subscriptionOf(sql);

  return {
    async createSubscription({ url, types, instance, after }, call) {
      const owner = organizationOf(call);
      if (await isFull(sql, owner)) throw full();
      const at = first(owner, ids(), clock());
      const { shown, sealed } = newSecret(secrets.keyring, at.stream);
      const place = await placeAfter(sql, { owner, instance, types }, after);
      const fact = { case: "created", value: { url, types, instance } } as const;
      const created = factOf("subscription", at, fact, { sealed, ...place });
      return log.append(call, [created], { subscriptionId: at.stream, details: detailsAfter(at), secret: shown });
    },

    async getSubscription({ subscriptionId }, call) {
      return { subscription: subscription(await found(subscriptionId, call), clock()) };
    },

    async listSubscriptions(request, call) {
      const page = pageOf(ListSubscriptionsRequestSchema, request, 1);
      const { rows, nextPageToken } = cut(await subscriptionsOf(sql, organizationOf(call), page), page, ({ id }) => [
        id,
      ]);
      return { subscriptions: rows.map((row) => subscription(row, clock())), nextPageToken };
    },

    async updateSubscription({ subscriptionId, updateMask, expectedSequence, ...request }, call) {
      const row = await found(subscriptionId, call);
      refuseOvertaken(row, expectedSequence);
      const { url = row.url, types = row.types } = changesOf(
        SubscriptionUpdateSchema,
        request.subscription,
        updateMask,
      );
      if (url === row.url && types.join() === row.types.join()) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const changed = factOf("subscription", at, { case: "changed", value: { url, types: [...types] } });
      return log.append(call, [changed], { details: detailsAfter(at) });
    },

    async deleteSubscription({ subscriptionId }, call) {
      const at = next(await found(subscriptionId, call), clock());
      return log.append(call, [plainFact("subscription", at, "deleted")], { details: detailsAfter(at) });
    },
  } satisfies Omit<ServiceImpl<typeof SubscriptionService>, keyof Deliveries>;
};

type Deliveries = Pick<
  ServiceImpl<typeof SubscriptionService>,
  "pauseSubscription" | "resumeSubscription" | "replaySubscription" | "rotateSubscriptionSecret"
>;

/** The calls about the deliveries of a subscription. */
export const subscriptionDeliveries = ({ log, sql, clock, secrets }: Deps) => {
  const found = subscriptionOf(sql);

  return {
    async pauseSubscription({ subscriptionId }, call) {
      const row = await found(subscriptionId, call);
      if (row.paused) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      return log.append(call, [plainFact("subscription", at, "paused")], { details: detailsAfter(at) });
    },

    async resumeSubscription({ subscriptionId }, call) {
      const row = await found(subscriptionId, call);
      if (!row.paused && row.failure === null) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      return log.append(call, [plainFact("subscription", at, "resumed")], { details: detailsAfter(at) });
    },

    async replaySubscription({ subscriptionId, after }, call) {
      const row = await found(subscriptionId, call);
      const place = await placeAfter(sql, row, after);
      const at = next(row, clock());
      const replayed = factOf("subscription", at, { case: "replayed", value: { after } }, place);
      return log.append(call, [replayed], { details: detailsAfter(at) });
    },

    async rotateSubscriptionSecret(request, call) {
      const at = next(await found(request.subscriptionId, call), clock());
      const { shown, sealed } = newSecret(secrets.keyring, at.stream);
      const previousSecretExpirationDate = timestampFromDate(endOfPrevious(request, at.time));
      const fact = { case: "secretRotated", value: { previousSecretExpirationDate } } as const;
      const answer = { details: detailsAfter(at), secret: shown, previousSecretExpirationDate };
      return log.append(call, [factOf("subscription", at, fact, { sealed })], answer);
    },
  } satisfies Deliveries;
};

const usualOverlapSeconds = 86_400;

const endOfPrevious = ({ overlapSeconds = usualOverlapSeconds }: RotateSubscriptionSecretRequest, now: Date): Date =>
  new Date(now.getTime() + overlapSeconds * 1000);

/** Makes the read of a subscription in the organization that a call works in. */
function subscriptionOf(sql: Sql) {
  const read = subscriptionRead(sql);
  return async (id: string, call: Call): Promise<SubscriptionRow> => {
    const row = await read({ owner: organizationOf(call), id }, call.signal);
    if (!row) throw refuse.notFound("subscription", id);
    return row;
  };
}

const full = () => refuse.because("SUBSCRIPTION_LIMIT", { params: { limit: String(mostSubscriptions) } });

type Followed = Pick<SubscriptionRow, "owner" | "instance" | "types">;

/** The position in the log after which deliveries begin, for the fold. */
async function placeAfter(sql: Sql, { owner, instance, types }: Followed, after: string) {
  const { at } = await begun(sql, { ...unfiltered, owner: instance ? "" : owner, types }, after);
  return { number: String(at.number), batch: at.batch };
}

export const subscriptionRules = [
  messageRule(CreateSubscriptionRequestSchema, ({ url, types, after }) => [
    ...wrongUrl("url", url),
    ...unknownTypes({ types }),
    ...wrongPosition(after),
  ]),
  messageRule(UpdateSubscriptionRequestSchema, ({ subscription: { url, types = [] } = {} }) => [
    ...wrongUrl("subscription.url", url),
    ...unknownTypes({ types }).map((one) => ({ ...one, field: `subscription.${one.field}` })),
  ]),
  messageRule(ReplaySubscriptionRequestSchema, ({ after }) => wrongPosition(after)),
  updateRule(UpdateSubscriptionRequestSchema, "subscription"),
  pageRule(ListSubscriptionsRequestSchema, 1),
];

// The rules of the field itself refuse an empty one.
function wrongUrl(field: string, url: string | undefined): Violation[] {
  return !url || isOutgoingUri(url) ? [] : [{ field, text: "KEY_SET_URI", reason: "SUBSCRIPTION_URL_INVALID" }];
}

const wrongPosition = (after: string): Violation[] => (!after || parsePosition(after) ? [] : [notAPosition]);
