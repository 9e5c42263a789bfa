import type { ServiceImpl } from "@connectrpc/connect";
import type { AccountService } from "../../gen/postern/v1/account_pb.ts";
import { type Call, callerOf, type Deps, type Membership } from "../deps.ts";
import { refuse, type Violation } from "../errors.ts";
import { detailsAfter, factOf, next } from "../events/fact.ts";
import { errorText } from "../messages/catalogue.ts";
import type { PasswordBench } from "../security/password.ts";
import { organization, organizationRead } from "./organization.ts";
import {
  isUnchanged,
  type Outcome,
  type PasswordUser,
  passwordGuesses,
  passwordSecret,
  passwordUserRead,
  refuseBroken,
  refuseReused,
} from "./password.ts";
import { user, userRead } from "./user.ts";

/** What concerns the caller itself. */
export const accountService = (deps: Deps) => {
  const { log, sql, clock, secrets } = deps;
  const userById = userRead(sql);
  const organizationById = organizationRead(sql);
  const passwordUser = passwordUserRead(sql);
  const guess = passwordGuesses(deps);

  return {
    async getMe(_request, call) {
      const { userId: id, organization: owner, memberships } = callerOf(call);
      const [row, home] = await Promise.all([
        userById({ owner, id }, call.signal),
        organizationById({ id: owner }, call.signal),
      ]);
      if (!row || !home) throw refuse.because("TOKEN_INVALID");
      return { user: user(row, clock()), organization: organization(home), roles: memberships.flatMap(heldRoles) };
    },

    async changePassword({ oldPassword, newPassword }, call) {
      const outcome = await guess({ user: await self(call), password: oldPassword, call, whenRight: hashNew });
      const { user, value: hash } = rightOf(outcome);
      const at = next(user, clock());
      const { sessionId: keepSessionId } = callerOf(call);
      const value = { byAdministrator: false, ...(keepSessionId && { keepSessionId }) };
      const secret = passwordSecret(hash, user.policy);
      const changed = factOf("user", at, { case: "passwordChanged", value }, secret);
      return log.append(call, [changed], { details: detailsAfter(at) });

      /** The old password was right: whatever is wrong with the new one may be told. */
      async function hashNew(bench: PasswordBench, { names, policy, history }: PasswordUser): Promise<string> {
        if (isUnchanged(oldPassword, newPassword))
          throw refuse.because("PASSWORD_UNCHANGED", { violations: [unchanged] });
        refuseBroken({ field: "newPassword", password: newPassword, names, policy }, secrets);
        await refuseReused(bench, newPassword, history.slice(0, Math.max(policy.historyDepth - 1, 0)));
        return bench.hash(newPassword);
      }
    },
  } satisfies ServiceImpl<typeof AccountService>;

  async function self(call: Call): Promise<PasswordUser> {
    const { userId: id, organization: owner } = callerOf(call);
    const user = await passwordUser({ owner, id }, call.signal);
    if (!user) throw refuse.because("TOKEN_INVALID");
    if (user.kind !== "human") throw refuse.because("USER_NOT_HUMAN", { params: { id } });
    if (user.hash === null) throw refuse.because("PASSWORD_MISSING", { params: { id } });
    return user;
  }
};

const unchanged: Violation = {
  field: "newPassword",
  description: errorText("PASSWORD_UNCHANGED"),
  reason: "PASSWORD_UNCHANGED",
};

const mismatch: Violation = {
  field: "oldPassword",
  description: errorText("PASSWORD_MISMATCH"),
  reason: "PASSWORD_MISMATCH",
};

function rightOf<T>(outcome: Outcome<T>): Extract<Outcome<T>, { is: "right" }> {
  switch (outcome.is) {
    case "right":
      return outcome;
    case "wrong":
      throw refuse.because("PASSWORD_MISMATCH", { violations: [mismatch] });
    case "locked":
      throw refuse.because("USER_LOCKED");
  }
}

function heldRoles({ scope, id, organization, project, roles }: Membership) {
  const where = {
    ...(scope === "instance" ? {} : { organizationId: organization }),
    ...(project === undefined ? {} : { projectId: project }),
    ...(scope === "project_grant" ? { projectGrantId: id } : {}),
  };
  return roles.map((role) => ({ role, ...where }));
}
