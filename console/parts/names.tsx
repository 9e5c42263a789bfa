import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ObjectNameJson } from "../../gen/postern/v1/name_pb.ts";
import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import { linkTo } from "../links.ts";
import { Icon } from "./icons.tsx";

const mostAtOnce = 1000;
const known = signal<ReadonlyMap<string, ObjectNameJson | undefined>>(new Map());
let wanted = new Set<string>();

/** The name behind an id; undefined until it is known, and for objects that the user may not see. */
export function useName(id: string | undefined): ObjectNameJson | undefined {
  const key = `${organizationId.value} ${id}`;
  useEffect(() => {
    if (id && !known.peek().has(key)) want(id);
  }, [key]);
  return known.value.get(key);
}

/** Names asked for at the same moment share one call. */
function want(id: string): void {
  if (wanted.size === 0) setTimeout(ask);
  wanted.add(id);
}

async function ask(): Promise<void> {
  const ids = [...wanted].slice(0, mostAtOnce);
  const organization = organizationId.value;
  wanted = new Set();
  // Names make ids readable; without them, the ids remain.
  const { names = [] } = await call("NameService/GetNames", { ids }, { organizationId: organization }).catch(() => ({
    names: [],
  }));
  const found = new Map(names.map((name) => [name.id, name]));
  known.value = new Map([...known.value, ...ids.map((id) => [`${organization} ${id}`, found.get(id)] as const)]);
}

/** Forgets a name that was changed. */
export function forgetName(id: string): void {
  const key = `${organizationId.value} ${id}`;
  known.value = new Map([...known.value].filter(([one]) => one !== key));
}

type NamedProps = { readonly id: string; readonly kind?: "user" | "project" | "organization" | "application" };

/** An object by its name, or by its id if the user may not know more; a link if it has a page. */
export function Named({ id, kind }: NamedProps) {
  const found = useName(id);
  const text = found?.name || id;
  const path = pathOf(found, kind, id);
  if (path) return <a href={path}>{text}</a>;
  return found ? <span>{text}</span> : <code class="unnamed">{id}</code>;
}

function pathOf(found: ObjectNameJson | undefined, kind: NamedProps["kind"], id: string): string | undefined {
  const what = found?.kind?.replace("OBJECT_KIND_", "").toLowerCase() ?? kind;
  if (!found) return undefined;
  if (what === "user") return linkTo(["users", id], { org: found.organizationId });
  if (what === "project") return linkTo(["projects", id]);
  if (what === "organization") return linkTo(["organizations", id], { org: id });
  return undefined;
}

/** A user with name and login name. */
export function Who({ id }: { readonly id: string }) {
  const found = useName(id);
  return (
    <div class="who">
      <Face name={found?.name} />
      <div>
        <Named id={id} kind="user" />
        {found?.loginName && found.loginName !== found.name && <small>{found.loginName}</small>}
      </div>
    </div>
  );
}

/** The disc that represents a user: a person's initials, or the sign of a machine. */
export function Face({ name, isMachine = false }: { readonly name: string | undefined; readonly isMachine?: boolean }) {
  return (
    <span class="face" aria-hidden="true">
      {isMachine || !name ? <Icon name={isMachine ? "robot" : "user"} /> : initialsOf(name)}
    </span>
  );
}

function initialsOf(name: string): string {
  const words = name.split(/\s+/).filter(Boolean);
  const ends = words.length > 1 ? [words[0], words[words.length - 1]] : words;
  return ends.map((word) => [...(word ?? "")][0]?.toUpperCase() ?? "").join("");
}
