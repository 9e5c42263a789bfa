import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { DeliveryJson, DeliveryKindJson } from "../../gen/postern/v1/delivery_pb.ts";
import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import { useList } from "../calls/use_list.ts";
import { linkTo } from "../links.ts";
import { Ask } from "../parts/ask.tsx";
import { Badge } from "../parts/badge.tsx";
import type { Submission } from "../parts/form.tsx";
import { List } from "../parts/list.tsx";
import { Named } from "../parts/names.tsx";
import { Card, Empty, PageHeader } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { say } from "../parts/toasts.tsx";
import { may } from "../sign_in/me.ts";
import { deliveryTexts, mailTexts } from "../texts/deliveries.ts";
import { partTexts } from "../texts/parts.ts";
import { type Text, t } from "../texts/text.ts";

const kinds = {
  mail: "DELIVERY_KIND_MAIL",
  sms: "DELIVERY_KIND_SMS",
  "sign-out": "DELIVERY_KIND_SIGN_OUT",
} as const satisfies Record<string, DeliveryKindJson>;

const kindOptions: readonly (readonly [value: string, text: Text])[] = [
  ["", deliveryTexts.all],
  ["mail", deliveryTexts.mails],
  ["sms", deliveryTexts.sms],
  ["sign-out", deliveryTexts.signOuts],
];

const placeOptions: typeof kindOptions = [
  ["", deliveryTexts.inOrganization],
  ["instance", deliveryTexts.everywhere],
];

/** The deliveries that were given up: why, and to send them again. */
export default function DeliveriesPage() {
  const { query, route } = useLocation();
  const kind = useSignal(query.kind ?? "");
  const place = useSignal(query.place ?? "");
  const here = linkTo(["deliveries"], { kind: kind.value, place: place.value });
  useEffect(() => {
    if (here !== location.pathname + location.search) route(here, true);
  }, [here]);
  const instance = place.value === "instance" && may("DeliveryService/ListDeliveries", { instance: true });
  const only = kind.value in kinds ? { kind: kinds[kind.value as keyof typeof kinds] } : {};
  const list = useList("DeliveryService/ListDeliveries", { instance, ...only }, { rowsOf: (page) => page.deliveries });
  const retry = async (deliveryId: string, { key }: Submission) => {
    const options = { organizationId: organizationId.value, key };
    await call("DeliveryService/RetryDelivery", { deliveryId, instance }, options);
    say(t(deliveryTexts.sentAgain));
    await list.reload();
  };
  return (
    <>
      <PageHeader title={t(deliveryTexts.title)} below={t(deliveryTexts.about)} />
      <Card class="flush">
        <div class="filters">
          <Choice of={kind} label={deliveryTexts.kind} options={kindOptions} />
          {may("DeliveryService/ListDeliveries", { instance: true }) && (
            <Choice of={place} label={deliveryTexts.where} options={placeOptions} />
          )}
        </div>
        <List
          of={list}
          label={t(deliveryTexts.title)}
          keyOf={({ id = "" }) => id}
          columns={[
            { title: t(deliveryTexts.receiver), cell: (delivery) => <Receiver of={delivery} /> },
            { title: t(deliveryTexts.why), cell: ({ failure }) => failure, isMinor: true },
            {
              title: t(deliveryTexts.givenUp),
              cell: ({ givenUpDate }) => givenUpDate && <Time at={givenUpDate} />,
              isMinor: true,
            },
            {
              title: t(partTexts.acts),
              cell: (delivery) => <Again of={delivery} instance={instance} retry={retry} />,
              isActs: true,
            },
          ]}
          empty={<Empty>{t(deliveryTexts.nothing)}</Empty>}
        />
      </Card>
    </>
  );
}

type ChoiceProps = {
  readonly of: { value: string };
  readonly label: Text;
  readonly options: typeof kindOptions;
};

function Choice({ of, label, options }: ChoiceProps) {
  return (
    <select aria-label={t(label)} value={of.value} onChange={(event) => (of.value = event.currentTarget.value)}>
      {options.map(([value, text]) => (
        <option key={value} value={value}>
          {t(text)}
        </option>
      ))}
    </select>
  );
}

type OfDelivery = { readonly of: DeliveryJson };

function What({ of: { kind, mailKind = "MAIL_KIND_UNSPECIFIED" } }: OfDelivery) {
  if (kind === "DELIVERY_KIND_MAIL") return <>{t(mailTexts[mailKind])}</>;
  return <>{t(kind === "DELIVERY_KIND_SMS" ? deliveryTexts.sms : deliveryTexts.signOuts)}</>;
}

function Receiver({ of }: OfDelivery) {
  const { address, appId, userId } = of;
  return (
    <div class="who">
      <div>
        {appId ? <Named id={appId} kind="application" /> : userId && <Named id={userId} kind="user" />}
        {address && <small>{address}</small>}
        <What of={of} />
      </div>
    </div>
  );
}

type AgainProps = OfDelivery & {
  readonly instance: boolean;
  readonly retry: (id: string, submission: Submission) => Promise<void>;
};

function Again({ of: { id = "", retryable }, instance, retry }: AgainProps) {
  if (!may("DeliveryService/RetryDelivery", { instance, organizationId: organizationId.value })) return null;
  if (!retryable) return <Badge>{t(deliveryTexts.expired)}</Badge>;
  return (
    <Ask
      text={t(deliveryTexts.sendAgain)}
      about={t(deliveryTexts.sendAgainAbout)}
      act={(submission) => retry(id, submission)}
    />
  );
}
