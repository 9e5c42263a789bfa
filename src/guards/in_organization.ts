import type { Message } from "@bufbuild/protobuf";
import { type Call, type Caller, callerOf, keys, type Membership, type Reach } from "../deps.ts";
import { refuse } from "../errors.ts";
import type { Noun } from "../reasons.ts";
import { fieldOf, textOf } from "./field.ts";
import { denied, holding, type Lookups } from "./held_permissions.ts";
import type { Step } from "./interceptor.ts";
import { isPermission } from "./permissions.ts";
import type { Rule } from "./rule.ts";

const header = "x-service-orgid";

/**
 * Notes the organization that the call works in, for a handler that shows only objects that the caller may read there. An organization in
 * which the caller has no role is not noted: there is nothing to read, and the call must not use the organization's share of the capacity.
 */
export const organizationWorkedIn: Step = (_request, call) => {
  const { organization: own, memberships } = callerOf(call);
  const organization = call.requestHeader.get(header)?.trim() || own;
  const belongs = ({ scope, organization: there }: Membership) => scope === "instance" || there === organization;
  if (organization === own || memberships.some(belongs)) call.values.set(keys.organization, organization);
};

type Named = { readonly field: string; readonly id: string };

/**
 * Finds the organization that the call works in, and requires the permission there: on the organization, on the instance, or on the object
 * that the request names.
 */
export function inOrganization(rule: Rule) {
  const { method, option, permission, lookups } = rule;
  const holdingEnough = anyOf(rule);
  const isExempt = exemption({ method, option });
  const readers = option.objects.map((field) => ({ field, read: textOf(method.input, field) }));

  return async (request: Message, call: Call): Promise<void> => {
    const named = readers.map(({ field, read }) => ({ field, id: read(request) })).filter(({ id }) => id !== "");
    if (isExempt(request, call)) return;
    const held = holdingEnough(request, callerOf(call));
    if (held.length === 0) throw denied(permission);
    const organization = await workedIn(call, named);
    const there = held.filter((one) => one.scope === "instance" || one.organization === organization);
    if (there.length === 0 || !(await exists(organization, there))) throw missing(named, call, permission);
    const reach = reachOf(there);
    if (!reach.whole && !option.partial) await within(reach, named);
    call.values.set(keys.organization, organization);
    call.values.set(keys.reach, reach);
  };

  /** The call works in the organization that the request names, unless the header names another. */
  async function workedIn(call: Call, named: readonly Named[]): Promise<string> {
    const asked = call.requestHeader.get(header)?.trim();
    const object = named.find(({ field }) => field === "organization_id")?.id;
    if (asked && object !== undefined && asked !== object && (await holdsIn(call, asked))) {
      throw refuse.notFound("organization", object);
    }
    return asked || object || callerOf(call).organization;
  }

  async function holdsIn(call: Call, organization: string): Promise<boolean> {
    const there = holding(callerOf(call), permission).filter(
      (one) => one.scope === "instance" || one.organization === organization,
    );
    return there.length > 0 && exists(organization, there);
  }

  async function exists(organization: string, there: readonly Membership[]): Promise<boolean> {
    return there.some(({ scope }) => scope !== "instance") || lookups.organizationExists(organization);
  }

  /** A role on a project or project grant only counts if the request names that object. */
  async function within(reach: Exclude<Reach, { whole: true }> & Places, named: readonly Named[]): Promise<void> {
    const objects = named.filter(({ field }) => field !== "organization_id");
    if (objects.length === 0) throw denied(permission);
    for (const object of objects) {
      if (!(await reached(reach, object, lookups))) throw refuse.notFound(nounOf(object.field), object.id);
    }
  }
}

/** Makes a search for the memberships that give the permission, or one that is enough instead of it for the request. */
function anyOf({ method, option, permission }: Rule): (request: Message, caller: Caller) => readonly Membership[] {
  const others = option.instead.map((one) => {
    if (!isPermission(one.permission))
      throw new Error(`${method.name} names ${one.permission}, which is no permission`);
    return { permission: one.permission, isEnough: one.when ? fieldOf(method.input, one.when) : () => true };
  });
  if (others.length === 0) return (_request, caller) => holding(caller, permission);
  return (request, caller) => [
    ...holding(caller, permission),
    ...others.flatMap((other) => (other.isEnough(request) ? holding(caller, other.permission) : [])),
  ];
}

/** Exempts the user that the request names, or everybody in their own organization. */
function exemption({ method, option }: Pick<Rule, "method" | "option">) {
  const named = option.ownUser ? textOf(method.input, option.ownUser) : () => "";
  return (request: Message, call: Call): boolean => {
    const caller = callerOf(call);
    if (caller.isLimited) return false;
    const organization = call.requestHeader.get(header)?.trim() || caller.organization;
    const isOwn = named(request) === caller.userId || (option.ownOrganization && organization === caller.organization);
    if (isOwn) call.values.set(keys.organization, organization).set(keys.reach, { whole: true });
    return isOwn;
  };
}

/**
 * Makes the error for a missing organization: PERMISSION_DENIED if the header or the default names it, whether or not it exists; not found
 * if it is the object of the request.
 */
function missing(named: readonly Named[], call: Call, permission: string) {
  const object = named.find(({ field }) => field === "organization_id");
  return object && !call.requestHeader.get(header)?.trim()
    ? refuse.notFound("organization", object.id)
    : denied(permission);
}

type Places = { readonly projectsOfGrants: readonly string[] };

function reachOf(there: readonly Membership[]): { whole: true } | (Exclude<Reach, { whole: true }> & Places) {
  if (there.some(({ scope }) => scope === "instance" || scope === "organization")) return { whole: true };
  const ids = (wanted: Membership["scope"]) => there.filter(({ scope }) => scope === wanted).map(({ id }) => id);
  const projectsOfGrants = there.flatMap(({ scope, project }) => (scope === "project_grant" && project ? project : []));
  return {
    whole: false,
    organizations: [],
    projects: ids("project"),
    projectGrants: ids("project_grant"),
    projectsOfGrants,
  };
}

async function reached(
  { projects, projectGrants, projectsOfGrants }: Exclude<Reach, { whole: true }> & Places,
  { field, id }: Named,
  lookups: Lookups,
): Promise<boolean> {
  switch (field) {
    case "project_id":
      return projects.includes(id) || projectsOfGrants.includes(id);
    case "project_grant_id":
      // A project's owner manages its grants; the handler knows whether this grant is one of them.
      return projectGrants.includes(id) || projects.length > 0;
    case "user_grant_id": {
      const grant = await lookups.userGrant(id);
      if (!grant) return false;
      return grant.projectGrantId ? projectGrants.includes(grant.projectGrantId) : projects.includes(grant.projectId);
    }
    default:
      throw new Error(`an access option names ${field} as an object, which it is not`);
  }
}

function nounOf(field: string): Noun {
  switch (field) {
    case "project_id":
      return "project";
    case "project_grant_id":
      return "project_grant";
    case "user_grant_id":
      return "user_grant";
    default:
      return "organization";
  }
}
