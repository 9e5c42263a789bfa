import type { ServiceImpl } from "@connectrpc/connect";
import {
  DeliveryKind,
  type DeliveryService,
  type ListDeliveriesRequest,
  ListDeliveriesRequestSchema,
} from "../../../gen/postern/v1/delivery_pb.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { details, detailsAfter, factOf, next } from "../../events/fact.ts";
import { holding } from "../../guards/held_permissions.ts";
import { messageRule } from "../../rules.ts";
import { cut, notAToken, pageOf, pageRule, tokenIn } from "../reading/page.ts";
import {
  type DeliveryRow,
  deliveriesOf,
  delivery,
  deliveryOf,
  isExpired,
  type Kind,
  versioned,
} from "./delivery_row.ts";

/** Deliveries that were given up: mails, SMS and sign-outs. */
export const deliveryService = ({ log, sql, clock }: Pick<Deps, "log" | "sql" | "clock">) =>
  ({
    async listDeliveries(request, call) {
      const page = pageOf(ListDeliveriesRequestSchema, request, 2);
      const kinds = kindsFor("read", request, call).filter((kind) => isAsked(kind, request));
      if (kinds.length === 0) return { deliveries: [], nextPageToken: "" };
      const rows = await deliveriesOf(sql, { kinds, owner: ownerOf(request, call) }, page);
      const { rows: listed, nextPageToken } = cut(rows, page, ({ deadAt, id }) => [deadAt ?? "", id]);
      return { deliveries: listed.map((row) => delivery(row, clock())), nextPageToken };
    },

    async retryDelivery(request, call) {
      const { deliveryId: id } = request;
      const wanted = { kinds: kindsFor("write", request, call), owner: ownerOf(request, call) };
      const row = wanted.kinds.length > 0 ? await deliveryOf(sql, id, wanted) : undefined;
      // A delivery that was never given up is not listed either.
      if (!row || (row.dead === null && row.retries === 0n)) throw refuse.notFound("delivery", id);
      if (row.dead === null) return log.append(call, [], { details: details(versioned(row)) });
      refuseUseless(row, clock());
      const at = next(versioned(row), clock());
      return log.append(call, [factOf("delivery", at, { case: "retried", value: about(row) })], {
        details: detailsAfter(at),
      });
    },
  }) satisfies ServiceImpl<typeof DeliveryService>;

export const deliveryRules = [
  pageRule(ListDeliveriesRequestSchema, 2),
  messageRule(ListDeliveriesRequestSchema, wrongTime, ["pageToken"]),
];

/** The first key of a token is a time in microseconds. */
function wrongTime({ pageToken }: ListDeliveriesRequest): Violation[] {
  const [at] = tokenIn(pageToken, 2)?.keys ?? [];
  return at === undefined || /^\d{1,16}$/.test(at) ? [] : [notAToken];
}

type InPlace = { readonly instance: boolean };

const ownerOf = ({ instance }: InPlace, call: Call) => (instance ? undefined : organizationOf(call));

const nouns = { [DeliveryKind.MAIL]: "user", [DeliveryKind.SMS]: "user", [DeliveryKind.SIGN_OUT]: "app" } as const;
const all: readonly Kind[] = [DeliveryKind.MAIL, DeliveryKind.SMS, DeliveryKind.SIGN_OUT];

/** The kinds that the caller may list, or send again, in the organization or the instance. */
function kindsFor(act: "read" | "write", { instance }: InPlace, call: Call): readonly Kind[] {
  const place = organizationOf(call);
  return all.filter((kind) =>
    holding(callerOf(call), `${nouns[kind]}.${act}`).some(
      ({ scope, id }) => scope === "instance" || (!instance && scope === "organization" && id === place),
    ),
  );
}

const isAsked = (kind: DeliveryKind, { kind: asked }: ListDeliveriesRequest): boolean =>
  asked === DeliveryKind.UNSPECIFIED || asked === kind;

function refuseUseless(row: DeliveryRow, now: Date): void {
  const params = { id: row.id };
  if (!row.isWanted) throw refuse.because("DELIVERY_NOT_WANTED", { params });
  if (isExpired(row, now)) throw refuse.because("DELIVERY_EXPIRED", { params });
}

const about = ({ kind, userId, appId }: DeliveryRow) => ({
  kind,
  ...(userId === null ? {} : { userId }),
  ...(appId === null ? {} : { appId }),
});
