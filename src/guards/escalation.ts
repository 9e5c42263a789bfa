import type { Message } from "@bufbuild/protobuf";
import { type Call, type Caller, callerOf, type Membership, organizationOf } from "../deps.ts";
import { refuse } from "../errors.ts";
import { fieldOf, textOf } from "./field.ts";
import { denied, given, holding, type Lookups } from "./held_permissions.ts";
import { type Missing, uncovered } from "./missing_permission.ts";
import { permissions } from "./permissions.ts";
import type { Rule } from "./rule.ts";

/** Begins a check that needs the result of others, and returns the rest of it. What it has to read is read meanwhile. */
export type Cover = (request: Message, call: Call) => () => Promise<void> | void;

/** Prevents privilege escalation: acting for another user, or giving a role, requires every permission gained by it. */
export function cover(rule: Rule): Cover | undefined {
  const { coversUser, coversRoles } = rule.option;
  if (coversUser) return coverUser(rule);
  if (coversRoles) return coverRoles(rule);
  return rule.option.givesRole ? coverGiven(rule) : undefined;
}

/** Covers the role that a request gives in an organization that it creates. */
function coverGiven({ method, option }: Rule): Cover {
  const when = textOf(method.input, option.givesRoleWhen);
  const target: Membership = { scope: "organization", id: "", organization: "", roles: [option.givesRole] };
  return (request, call) => () => {
    if (when(request) !== "") refuseUncovered(callerOf(call), [target]);
  };
}

function coverUser({ method, option, lookups, permission }: Rule): Cover {
  const named = textOf(method.input, option.coversUser);
  const userOf = userFinder(option.coversUser, lookups);
  const when = option.coversUserWhen.map((name) => fieldOf(method.input, name));
  return (request, call) => {
    const caller = callerOf(call);
    const id = named(request);
    const isNeeded = !coversEverybody(caller) && (when.length === 0 || when.some((read) => read(request)));
    // Read already now if the caller has the permission somewhere. If not here, nobody waits for it.
    const reading = isNeeded && holding(caller, permission).length > 0 ? rolesOf(id, caller) : undefined;
    reading?.catch(() => {});
    return async () => {
      if (caller.machineCredentialId !== undefined && isItself(caller, id)) throw denied(permission);
      if (!isNeeded) return;
      const held = await (reading ?? rolesOf(id, caller));
      const home = organizationOf(call);
      const missing = uncovered(caller, option.coversAtHome ? held.filter(isAtHome(home)) : held);
      if (missing) throw holdsMore(missing, caller, home);
    };
  };

  async function rolesOf(id: string, caller: Caller): Promise<readonly Membership[]> {
    const userId = await userOf(id);
    // A limited token must not escape its limits, by creating an unlimited token or by setting its user's password.
    if (userId === undefined || (userId === caller.userId && !caller.isLimited)) return [];
    return lookups.membershipsOf(userId);
  }
}

/** Changes that a machine's token makes to the machine itself could outlast the credential that the token depends on. */
const isItself = ({ userId }: Caller, id: string): boolean => id === "" || id === userId;

/** Whether a role counts in its user's home organization: roles given by others do not restrict its administrators. */
const isAtHome =
  (home: string) =>
  ({ scope, organization }: Membership): boolean =>
    scope === "instance" || organization === home;

/** Refuses a caller with fewer permissions than the user. Only callers who may read the user's roles learn where the user has more. */
function holdsMore({ permission, target }: Missing, caller: Caller, home: string) {
  const isTold = holding(caller, "user.read").some(({ scope, id }) => scope === "instance" || id === home);
  if (!isTold) return refuse.because("PERMISSION_DENIED", { params: { permission, problem: "HOLDS_MORE" } });
  const { scope, organization, id } = target;
  if (scope === "instance")
    return refuse.because("PERMISSION_DENIED", { params: { permission, problem: "HOLDS_MORE_ON_INSTANCE" } });
  const where = { organizationId: organization, ...(scope === "organization" ? {} : { [fieldsOfScope[scope]]: id }) };
  return refuse.because("PERMISSION_DENIED", { params: { permission, problem: "HOLDS_MORE_IN", ...where } });
}

const fieldsOfScope = { project: "projectId", project_grant: "projectGrantId" } as const;

/** Finds the user that a field names; the handler refuses a missing user. */
function userFinder(field: string, lookups: Lookups): (id: string) => Promise<string | undefined> {
  switch (field) {
    case "user_id":
      return async (id) => id;
    case "session_id":
      return async (id) => (await lookups.userOfSession(id))?.userId;
    default:
      throw new Error(`an access option covers the user by ${field}, which names none`);
  }
}

/** Whether a caller may do everything to everybody. */
export const coversEverybody = ({ memberships }: Caller): boolean =>
  memberships.some((own) => own.scope === "instance" && given(own).size === permissions.length);

function coverRoles({ method, option, lookups }: Rule): Cover {
  const roles = fieldOf(method.input, option.coversRoles);
  const instance = option.instance ? fieldOf(method.input, option.instance) : () => false;
  const scopes = option.objects.map((field) => ({ field, read: textOf(method.input, field) }));
  return (request, call) => () => {
    const named = Object.fromEntries(scopes.map(({ field, read }) => [field, read(request)]));
    const scope = instance(request) ? lookups.instanceId : undefined;
    const wanted = { roles: roles(request) as string[], organization: organizationOf(call) };
    refuseUncovered(callerOf(call), [membershipOf(wanted, scope, named)]);
  };
}

/** Finds the scope of the membership to be given: the narrowest one that the request names. */
function membershipOf(
  wanted: Pick<Membership, "roles" | "organization">,
  instance: string | undefined,
  { project_grant_id: grant, project_id: project }: Record<string, string>,
): Membership {
  if (instance !== undefined) return { ...wanted, scope: "instance", id: instance };
  if (grant) return { ...wanted, scope: "project_grant", id: grant, ...(project ? { project } : {}) };
  if (project) return { ...wanted, scope: "project", id: project, project };
  return { ...wanted, scope: "organization", id: wanted.organization };
}

function refuseUncovered(caller: Caller, targets: readonly Membership[]): void {
  const missing = uncovered(caller, targets);
  if (missing)
    throw refuse.because("PERMISSION_DENIED", { params: { permission: missing.permission, problem: "GIVES_MORE" } });
}
