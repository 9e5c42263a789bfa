import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { EventJson, ListEventsRequestJson } from "../../gen/postern/v1/event_pb.ts";
import { follow } from "../calls/live.ts";
import { organizationId } from "../calls/organization.ts";
import { useList } from "../calls/use_list.ts";
import { linkTo } from "../links.ts";
import { EventList } from "../objects/history.tsx";
import { findUsers } from "../objects/pickers.tsx";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icons.tsx";
import { Card, Empty, PageHeader, Waiting } from "../parts/page.tsx";
import { Picker } from "../parts/picker.tsx";
import { Trouble } from "../parts/trouble.tsx";
import { may } from "../sign_in/me.ts";
import { eventTexts } from "../texts/events.ts";
import { objectTexts } from "../texts/objects.ts";
import { partTexts } from "../texts/parts.ts";
import { types } from "../texts/sentences.ts";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";

type Filter = {
  readonly type: string;
  readonly actorId: string;
  readonly aboutUserId: string;
  readonly objectId: string;
};
const nothing: Filter = { type: "", actorId: "", aboutUserId: "", objectId: "" };
const mostLive = 500;

/** The log: past events, and new ones as they happen. */
export default function EventsPage() {
  const { query, route } = useLocation();
  const filter = useSignal<Filter>({ ...nothing, ...(query as Partial<Filter>) });
  const { type, actorId, aboutUserId, objectId } = filter.value;
  const isKnown = type === "" || types.includes(type);
  const request: ListEventsRequestJson = {
    ...(type ? { types: [type] } : {}),
    ...(actorId ? { actorId } : {}),
    ...(aboutUserId ? { aboutUserId } : {}),
    ...(objectId ? { objectId } : {}),
  };
  const list = useList("EventService/ListEvents", isKnown ? request : undefined, { rowsOf: ({ events }) => events });
  const live = useLive(filter.value);
  const isFollowing = useSignal(false);
  // Events between the reading of the list and the start of the stream are in neither.
  useEffect(() => {
    if (!live.isLive || isFollowing.value) return;
    isFollowing.value = true;
    void list.reload();
  }, [live.isLive]);
  const set = (change: Partial<Filter>) => {
    filter.value = { ...filter.value, ...change };
    route(linkTo(["events"], filter.value), true);
  };
  const seen = new Set(list.rows.map(({ position }) => position));
  const rows = [...live.events.filter(({ position }) => !seen.has(position)), ...list.rows];
  return (
    <>
      <PageHeader title={t(shellTexts.events)} below={t(eventTexts.about)} actions={<LiveButton of={live} />} />
      <Card class="flush">
        <Filters filter={filter.value} types={types} onChange={set} />
        {rows.length > 0 && <EventList events={rows} />}
        {rows.length === 0 && list.isLoading && isKnown && <Waiting />}
        {rows.length === 0 && (!list.isLoading || !isKnown) && !list.refusal && (
          <Empty>{t(objectTexts.noEvents)}</Empty>
        )}
        {list.refusal && <Trouble refusal={list.refusal} retry={list.reload} />}
        {list.hasMore && (
          <div class="more">
            <Button onClick={list.more} isBusy={list.isLoading}>
              {t(partTexts.more)}
            </Button>
          </div>
        )}
      </Card>
    </>
  );
}

type Live = {
  readonly events: readonly EventJson[];
  readonly isPaused: boolean;
  readonly isLive: boolean;
  readonly waiting: number;
  readonly toggle: () => void;
};

/** The events since the page was opened, the latest first; they can be held back while somebody reads. */
function useLive(filter: Filter): Live {
  const happened = useSignal<readonly EventJson[]>([]);
  const isLive = useSignal(false);
  const pausedAt = useSignal<number | undefined>(undefined);
  const organization = organizationId.value ?? "";
  useEffect(() => {
    const leaving = new AbortController();
    happened.value = [];
    follow({
      organizationId: organization,
      onEvent: (event) => {
        happened.value = [event, ...happened.value].slice(0, mostLive);
        if (pausedAt.value !== undefined) pausedAt.value += 1;
      },
      onStanding: (now) => {
        isLive.value = now;
      },
      signal: leaving.signal,
    });
    return () => leaving.abort();
  }, [organization]);
  const shown = happened.value.slice(pausedAt.value ?? 0);
  const toggle = () => {
    pausedAt.value = pausedAt.value === undefined ? 0 : undefined;
  };
  return {
    events: shown.filter((event) => matches(event, filter)),
    isPaused: pausedAt.value !== undefined,
    isLive: isLive.value,
    waiting: happened.value.slice(0, pausedAt.value ?? 0).filter((event) => matches(event, filter)).length,
    toggle,
  };
}

const matches = (event: EventJson, { type, actorId, aboutUserId, objectId }: Filter): boolean =>
  (!type || event.type === type) &&
  (!actorId || event.actorId === actorId) &&
  (!aboutUserId || event.aboutUserId === aboutUserId) &&
  (!objectId || event.objectId === objectId);

function LiveButton({ of: { isPaused, isLive, waiting, toggle } }: { readonly of: Live }) {
  const state = isPaused ? eventTexts.paused : isLive ? eventTexts.live : eventTexts.connecting;
  return (
    <>
      <span class={`live ${isLive && !isPaused ? "on" : ""}`} role="status">
        <Icon name="live" />
        {t(state)}
        {waiting > 0 && ` · ${t(eventTexts.newEvents, { count: waiting })}`}
      </span>
      <Button onClick={toggle}>{t(isPaused ? eventTexts.resume : eventTexts.pause)}</Button>
    </>
  );
}

type FiltersProps = {
  readonly filter: Filter;
  readonly types: readonly string[];
  readonly onChange: (change: Partial<Filter>) => void;
};

function Filters({ filter, types, onChange }: FiltersProps) {
  const find = async (text: string, signal: AbortSignal) => [
    { id: "", text: t(partTexts.all) },
    ...(await findUsers(text, signal)),
  ];
  const mayPick = may("UserService/ListUsers");
  return (
    <div class="filters events-filters">
      <input
        type="text"
        list="event-types"
        spellcheck={false}
        aria-label={t(eventTexts.type)}
        placeholder={t(eventTexts.type)}
        value={filter.type}
        onInput={(event) => onChange({ type: event.currentTarget.value.trim() })}
      />
      <datalist id="event-types">
        {types.map((type) => (
          <option key={type} value={type} />
        ))}
      </datalist>
      {mayPick && (
        <Picker
          id="by"
          placeholder={t(eventTexts.by)}
          label={t(eventTexts.by)}
          find={find}
          onPick={({ id }) => onChange({ actorId: id })}
        />
      )}
      {mayPick && (
        <Picker
          id="about"
          placeholder={t(eventTexts.aboutUser)}
          label={t(eventTexts.aboutUser)}
          find={find}
          onPick={({ id }) => onChange({ aboutUserId: id })}
        />
      )}
      <input
        type="text"
        spellcheck={false}
        aria-label={t(eventTexts.object)}
        placeholder={t(eventTexts.object)}
        value={filter.objectId}
        onChange={(event) => onChange({ objectId: event.currentTarget.value.trim() })}
      />
    </div>
  );
}
