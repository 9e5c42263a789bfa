import type { Message } from "@bufbuild/protobuf";
import { isRead } from "@postern/gateway";
import { type Call, type Caller, callerOf, keys } from "../deps.ts";
import { refuse } from "../errors.ts";
import type { Noun } from "../reasons.ts";
import { fieldOf, textOf } from "./field.ts";
import { denied, holding, type Lookups } from "./held_permissions.ts";
import type { Rule } from "./rule.ts";

type Target = { readonly userId: string; readonly owner: string };

/** Requires the permission in the organization of the request's user; some rpcs let users act on themselves without it. */
export function ofUser({ method, option, permission, lookups }: Rule): (request: Message, call: Call) => Promise<void> {
  const named = textOf(method.input, option.user);
  const { noun, find } = finder(
    option.user,
    option.deletedUser ? { ...lookups, ownerOfUser: lookups.ownerOfAnyUser } : lookups,
  );
  const isAct = !isRead(method);
  const isId = option.user === "user_id";
  const organizationIn = option.user === "login_name" ? textOf(method.input, "organization_id") : () => "";
  const ends = option.selfUnless.map((name) => fieldOf(method.input, name));

  return async (request, call) => {
    const caller = callerOf(call);
    const itself: Target = { userId: caller.userId, owner: caller.organization };
    const id = named(request) || caller.userId;
    const exempt = option.self && !caller.isLimited && !ends.some((read) => read(request));
    const held = holding(caller, permission);
    const target =
      isId && id === caller.userId
        ? itself
        : await found({ id, organizationId: organizationIn(request) }, exempt || held.length > 0);
    if (isAct && target?.userId === caller.userId) refuseInConsole(caller);
    if (!(exempt && target?.userId === caller.userId)) {
      if (held.length === 0) throw denied(permission);
      if (!target || !held.some((one) => one.scope === "instance" || reaches(one, target)))
        throw refuse.notFound(noun, id);
    }
    call.values.set(keys.organization, target?.owner ?? caller.organization);
  };

  async function found(of: UserOf, matters: boolean): Promise<Target | undefined> {
    return matters ? find(of) : undefined;
  }
}

/** Refuses to change the caller's own account with a token of the console, which a page holds: the account has pages of its own. */
export function refuseInConsole({ consoleSessionId }: Caller): void {
  if (consoleSessionId !== undefined) throw refuse.because("OWN_ACCOUNT_IN_CONSOLE");
}

const reaches = ({ scope, id }: { scope: string; id: string }, { owner }: Target) =>
  scope === "organization" && id === owner;

/** The name of a user in a request; for a login name, with the organization that it is looked up in. */
type UserOf = { readonly id: string; readonly organizationId: string };

type Finder = { readonly noun: Noun; readonly find: (of: UserOf) => Promise<Target | undefined> };

function finder(field: string, lookups: Lookups): Finder {
  switch (field) {
    case "user_id":
      return { noun: "user", find: ({ id }) => userWithOwner(id, lookups) };
    case "login_name":
      return { noun: "user", find: ({ id: loginName, ...of }) => lookups.userOfLoginName({ loginName, ...of }) };
    case "session_id":
      return { noun: "session", find: ({ id }) => lookups.userOfSession(id) };
    default:
      throw new Error(`an access option names the user by ${field}, which names none`);
  }
}

async function userWithOwner(userId: string, { ownerOfUser }: Lookups): Promise<Target | undefined> {
  const owner = await ownerOfUser(userId);
  return owner === undefined ? undefined : { userId, owner };
}
