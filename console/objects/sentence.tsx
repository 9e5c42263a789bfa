import type { ComponentChildren } from "preact";
import type { EventJson } from "../../gen/postern/v1/event_pb.ts";
import { linkTo } from "../links.ts";
import { Named, useName } from "../parts/names.tsx";
import { sentences, sentenceTexts } from "../texts/sentences.ts";
import { t } from "../texts/text.ts";

type SentenceProps = { readonly event: EventJson };

/** An event in one sentence, with links to the objects that it names; if only a newer server knows its type, the type's name. */
export function Sentence({ event }: SentenceProps) {
  const { type = "", actorId } = event;
  const own = actorId !== undefined && actorId === userOf(event) ? sentences[`${type}:self`] : undefined;
  const text = own ?? sentences[type];
  if (!text) return <code>{type}</code>;
  return (
    <>
      {t(text)
        .split(/(\{\w+\})/)
        .map((part, at) => {
          const name = /^\{(\w+)\}$/.exec(part)?.[1];
          return name ? <Place key={at} name={name} event={event} /> : part;
        })}
    </>
  );
}

/** The data of the event itself: `{user: {phoneChanged: {phone: …}}}`. */
export function saidIn({ fact = {} }: EventJson): Readonly<Record<string, unknown>> {
  const inner = Object.values(fact as Record<string, Record<string, unknown>>)[0] ?? {};
  const said = Object.values(inner)[0];
  return typeof said === "object" && said !== null ? (said as Record<string, unknown>) : {};
}

/** The user whom the event is about. */
function userOf(event: EventJson): string | undefined {
  const { aboutUserId, type = "", objectId } = event;
  return aboutUserId ?? textIn(event, "userId") ?? (type.startsWith("user.") ? objectId : undefined);
}

function textIn(event: EventJson, ...names: readonly string[]): string | undefined {
  const said = saidIn(event);
  const [found] = names.flatMap((name) => (said[name] ? [said[name]] : []));
  return Array.isArray(found) ? found.join(", ") : found === undefined ? undefined : String(found);
}

/** An application has its page in its project. */
function pathOf({ type = "", projectId, objectId = "" }: EventJson): readonly string[] | undefined {
  return type.startsWith("application.") && projectId ? ["projects", projectId, "applications", objectId] : undefined;
}

type PlaceProps = SentenceProps & { readonly name: string };

function Place({ name, event }: PlaceProps) {
  const something = t(sentenceTexts.something);
  switch (name) {
    case "actor":
      // Without an origin, the server acted by itself.
      return <Thing id={event.actorId} otherwise={event.origin ? t(sentenceTexts.somebody) : "Postern"} />;
    case "user":
      return <Thing id={userOf(event)} name={textIn(event, "username")} otherwise={t(sentenceTexts.unknownUser)} />;
    case "object":
      return <Thing id={event.objectId} name={textIn(event, "name")} otherwise={something} path={pathOf(event)} />;
    case "project":
      return <Thing id={event.projectId} otherwise={something} />;
    case "organization":
      return <Thing id={textIn(event, "organizationId", "grantedOrganizationId")} otherwise={something} />;
    case "app":
      return <Thing id={textIn(event, "appId")} otherwise={something} />;
    case "roles":
      return <b>{textIn(event, "roles", "roleKeys") ?? "–"}</b>;
    default:
      return <b>{textIn(event, name) ?? something}</b>;
  }
}

type ThingProps = {
  readonly id: string | undefined;
  /** The name in the event, used if the object is gone. */
  readonly name?: string | undefined;
  readonly otherwise: string | undefined;
  /** Its page, if its name does not determine that. */
  readonly path?: readonly string[] | undefined;
};

function Thing({ id, name, otherwise, path }: ThingProps): ComponentChildren {
  const found = useName(id);
  if (found && path) return <a href={linkTo(path)}>{found.name}</a>;
  return id && (found || !name) ? <Named id={id} /> : <b>{name ?? otherwise}</b>;
}
