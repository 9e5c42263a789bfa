import { useSignal } from "@preact/signals";
import type { EventJson, ListEventsRequestJson } from "../../gen/postern/v1/event_pb.ts";
import { useList } from "../calls/use_list.ts";
import { Icon } from "../parts/icons.tsx";
import { ListOf } from "../parts/list.tsx";
import { Card, Empty } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { objectTexts } from "../texts/objects.ts";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { Sentence, saidIn } from "./sentence.tsx";

/** The events of an object, the latest first. */
export function History({ of, about }: { readonly of: ListEventsRequestJson; readonly about?: string }) {
  const events = useList("EventService/ListEvents", of, { rowsOf: ({ events }) => events });
  return (
    <Card class="flush" title={t(partTexts.history)} about={about}>
      <ListOf of={events} empty={<Empty>{t(objectTexts.noEvents)}</Empty>}>
        {(rows) => <EventList events={rows} />}
      </ListOf>
    </Card>
  );
}

/** Events, each as a sentence with its type and its time, and on demand with all its data. */
export function EventList({ events }: { readonly events: readonly EventJson[] }) {
  return (
    <ol class="events">
      {events.map((event) => (
        <EventRow key={event.position} event={event} />
      ))}
    </ol>
  );
}

function EventRow({ event }: { readonly event: EventJson }) {
  const isOpen = useSignal(false);
  const { type = "", time } = event;
  return (
    <li class={isOpen.value ? "open" : ""}>
      <div class="event">
        <button type="button" class="copy" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
          <Icon name="chevron" />
          <span class="said">{t(objectTexts.detailsOf, { type })}</span>
        </button>
        <p>
          <Sentence event={event} />
        </p>
        <code class="event-type">{breakable(type)}</code>
        {time && <Time at={time} />}
      </div>
      {isOpen.value && (
        <dl class="event-facts">
          {[...factsOf(event), ...originOf(event)].map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  );
}

/** A type that may break after each of its words. */
const breakable = (type: string) =>
  type.split(/(?<=[._])/).map((part) => (
    <span key={part}>
      {part}
      <wbr />
    </span>
  ));

type Fact = readonly [name: string, value: string];

const factsOf = (event: EventJson): readonly Fact[] =>
  Object.entries(saidIn(event)).map(([name, value]) => [
    name,
    typeof value === "object" ? JSON.stringify(value) : String(value),
  ]);

function originOf({ origin, requestId, sequence, objectId }: EventJson): readonly Fact[] {
  const said = { objectId, sequence, ...origin, requestId };
  return Object.entries(said).flatMap(([name, value]) => (value ? [[name, String(value)]] : []));
}
