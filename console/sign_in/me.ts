import { computed, signal } from "@preact/signals";
import type { GetMeResponseJson, HeldRoleJson } from "../../gen/postern/v1/account_pb.ts";
import { call, type Method } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import { needs } from "../gen/contract.ts";
import { belongTo } from "./sign_in.ts";

/** The signed-in user, with the roles. */
export const me = signal<GetMeResponseJson | undefined>(undefined);

export const myId = computed(() => me.value?.user?.id ?? "");

/** Reads the signed-in user; the page then belongs to that account. */
export async function readMe(): Promise<void> {
  const now = await call("AccountService/GetMe", {});
  const { id = "", username = "" } = now.user ?? {};
  belongTo({ id, username, organizationId: now.organization?.id ?? "" });
  me.value = now;
}

/** The object of an act, from the outside in. */
export type Scope = {
  readonly instance?: boolean | undefined;
  readonly organizationId?: string | undefined;
  readonly projectId?: string | undefined;
  readonly projectGrantId?: string | undefined;
  /** The user whose events are requested. */
  readonly aboutUserId?: string | undefined;
};

/** Whether the signed-in user's roles permit a call; the server may still refuse it, with its reason. */
export function may(method: Method, scope: Scope = {}): boolean {
  const { permission } = needs[method];
  const organization = scope.organizationId ?? organizationId.value;
  const about = { ...scope, organizationId: organization };
  return !permission || (me.value?.roles ?? []).some((role) => permits(role, method, about));
}

function permits(role: HeldRoleJson, method: Method, scope: Scope): boolean {
  const { permission, instead = [], instance, objects = [], partial } = needs[method];
  const others = instead.filter(({ when }) => !when || scope[when as keyof Scope]).map((one) => one.permission);
  const enough = scope.instance ? [instance ?? permission] : [permission, ...others];
  if (!role.permissions?.some((one) => enough.includes(one))) return false;
  if (isOfInstance(role)) return true;
  if (scope.instance || role.organizationId !== scope.organizationId) return false;
  if (partial || (!role.projectId && !role.projectGrantId)) return true;
  const ofGrant = objects.includes("user_grant_id");
  if (role.projectGrantId)
    return (ofGrant || objects.includes("project_grant_id")) && role.projectGrantId === scope.projectGrantId;
  return (ofGrant || objects.includes("project_id")) && role.projectId === scope.projectId;
}

const isOfInstance = ({ organizationId, projectId, projectGrantId }: HeldRoleJson): boolean =>
  !organizationId && !projectId && !projectGrantId;

/** Whether the signed-in user administers anything. */
export const isAdministrator = computed(() => (me.value?.roles ?? []).length > 0);

export const isOfTheInstance = computed(() => (me.value?.roles ?? []).some(isOfInstance));
