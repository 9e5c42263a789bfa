import type { UserFilterJson } from "../../gen/postern/v1/user_pb.ts";
import type { Text } from "../texts/text.ts";
import { userTexts } from "../texts/users.ts";

/** The state of the list in the address of the page. */
export type UserQuery = { readonly kind: string; readonly view: string; readonly search?: string };

type View = { readonly name: string; readonly text: Text; readonly filter: () => UserFilterJson };

const days = 24 * 3600 * 1000;

/** Lists that administrators often look for. */
export const views: readonly View[] = [
  { name: "", text: userTexts.inAnyState, filter: () => ({}) },
  { name: "active", text: userTexts.active, filter: () => ({ state: "USER_STATE_ACTIVE" }) },
  { name: "locked", text: userTexts.locked, filter: () => ({ state: "USER_STATE_LOCKED" }) },
  { name: "inactive", text: userTexts.deactivated, filter: () => ({ state: "USER_STATE_INACTIVE" }) },
  { name: "invited", text: userTexts.invited, filter: () => ({ invitationPending: true }) },
  { name: "unverified", text: userTexts.unverified, filter: () => ({ emailVerified: false }) },
  { name: "without-factor", text: userTexts.withoutFactor, filter: () => ({ hasFactor: false }) },
  {
    name: "idle",
    text: userTexts.idle,
    filter: () => ({ lastSignInBefore: new Date(Math.floor(Date.now() / days) * days - 90 * days).toISOString() }),
  },
];

/** The filter of the list. */
export function filterOf({ kind, view, search = "" }: UserQuery): UserFilterJson {
  const byKind = { human: "USER_KIND_HUMAN", machine: "USER_KIND_MACHINE" } as const;
  return {
    ...(search ? { search } : {}),
    ...(kind === "human" || kind === "machine" ? { kind: byKind[kind] } : {}),
    ...views.find(({ name }) => name === view)?.filter(),
  };
}

/** The part of it that the address keeps. */
export const kept = (query: UserQuery): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(Object.entries(query).filter(([, value]) => value));
