import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { isRead } from "@postern/gateway";
import { access } from "../../gen/postern/v1/options_pb.ts";
import { callerOf, keys, type Membership } from "../deps.ts";
import { refuse } from "../errors.ts";
import { type Cover, cover } from "./escalation.ts";
import { fieldOf } from "./field.ts";
import { freshSignIn } from "./fresh_sign_in.ts";
import { denied, holding, type Lookups } from "./held_permissions.ts";
import { inOrganization, organizationWorkedIn } from "./in_organization.ts";
import type { Step } from "./interceptor.ts";
import { ofUser, refuseInConsole } from "./of_user.ts";
import { isPermission, type Permission } from "./permissions.ts";
import type { Rule } from "./rule.ts";

/** Checks the caller's permission by the rpc's access option and the actual owner of the object in the request. */
export function authorize(method: DescMethod, lookups: Lookups): Step {
  const permitted = withFreshSignIn(method, lookups, permittedTo(method, lookups));
  const { who, enrolment } = getOption(method, access);
  if (who.case === "anyone" || enrolment) return permitted;
  return (request, call) => {
    if (callerOf(call).isEnrolling) throw refuse.because("FACTOR_ENROLMENT_REQUIRED");
    return permitted(request, call);
  };
}

function withFreshSignIn(method: DescMethod, lookups: Lookups, permitted: Step): Step {
  const option = getOption(method, access);
  if (!option.freshSignIn) return permitted;
  const fresh = freshSignIn({ method, option, lookups });
  return async (request, call) => {
    await permitted(request, call);
    await fresh(request, call);
  };
}

function permittedTo(method: DescMethod, lookups: Lookups): Step {
  const option = getOption(method, access);
  switch (option.who.case) {
    case "anyone":
      return () => {};
    case "signedIn":
      if (option.organization) return organizationWorkedIn;
      return isRead(method) ? () => {} : notLimited;
    case "permission":
      return withPermission({ method, option, permission: permissionOf(method, option.who.value), lookups });
    case undefined:
      throw new Error(`${method.name} has no access option`);
  }
}

/**
 * Refuses tokens of the console and limited access tokens: changing one's own account requires no permission, so no list of permissions can
 * allow it.
 */
const notLimited: Step = (_request, call) => {
  const caller = callerOf(call);
  refuseInConsole(caller);
  if (caller.isLimited) throw denied("user.write");
};

function withPermission(rule: Rule): Step {
  const { method, option } = rule;
  const [ordinary, onInstance, covered] = [scoped(rule), ofInstance(rule), afterwards(rule)];
  const isMoved = option.instance ? fieldOf(method.input, option.instance) : () => false;
  return (request, call) => {
    const rest = covered?.(request, call);
    const pending = isMoved(request) ? onInstance(request, call) : ordinary(request, call);
    return pending ? pending.then(rest) : rest?.();
  };
}

function afterwards(rule: Rule): Cover | undefined {
  const covered = cover(rule);
  if (!rule.option.instanceOwner) return covered;
  if (covered) throw new Error(`${rule.method.name} covers somebody, and asks for the owner of the instance`);
  return noteOwner;
}

/** Records for the handler whether the caller owns the instance, because only the handler knows which requests require that. */
const noteOwner: Cover = (_request, call) => () => {
  const held = holding(callerOf(call), "instance.write");
  call.values.set(
    keys.ownsInstance,
    held.some(({ scope }) => scope === "instance"),
  );
};

function scoped(rule: Rule): Step {
  if (rule.option.user) return ofUser(rule);
  if (rule.option.organization) return inOrganization(rule);
  return rule.option.partial ? somewhere(rule) : ofInstance(rule);
}

/** Requires the permission on the instance itself. */
function ofInstance({ method, option, permission, lookups }: Rule): Step {
  const needed =
    option.instance && option.instancePermission ? permissionOf(method, option.instancePermission) : permission;
  return (_request, call) => {
    const held = holding(callerOf(call), needed);
    if (!held.some(({ scope }) => scope === "instance")) throw denied(needed);
    call.values.set(keys.organization, lookups.instanceId);
  };
}

/** Requires the permission anywhere; the response contains only objects within its reach. */
function somewhere({ permission, option: { aboutOneself } }: Rule): Step {
  return (_request, call) => {
    const caller = callerOf(call);
    const held = holding(caller, permission);
    if (held.length === 0 && (!aboutOneself || caller.isLimited)) throw denied(permission);
    call.values.set(keys.reach, reachOf(held));
  };
}

/** Computes the reach of memberships, across all organizations. */
function reachOf(held: readonly Membership[]) {
  if (held.some(({ scope }) => scope === "instance")) return { whole: true } as const;
  const ids = (wanted: Membership["scope"]) => held.filter(({ scope }) => scope === wanted).map(({ id }) => id);
  return {
    whole: false,
    organizations: ids("organization"),
    projects: ids("project"),
    projectGrants: ids("project_grant"),
  } as const;
}

function permissionOf(method: DescMethod, text: string): Permission {
  if (!isPermission(text)) throw new Error(`${method.name} asks for ${text}, which is no permission`);
  return text;
}
