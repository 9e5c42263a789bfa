import type { ServiceImpl } from "@connectrpc/connect";
import {
  AllowUserRolesRequestSchema,
  EndUserRolesRequestSchema,
  ListEndedUserRolesRequestSchema,
  ListUserRolesRequestSchema,
  RoleKind,
  type UserRoleService,
} from "../../../gen/postern/v1/user_role_pb.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { details, detailsAfter, factOf, next } from "../../events/fact.ts";
import { lostRace } from "../../events/log.ts";
import { lateRule } from "../../rules.ts";
import { userExistsRead } from "../callers/user_exists.ts";
import { cut, pageOf, pageRule } from "../reading/page.ts";
import { beingDeleted } from "../writing/being_deleted.ts";
import { aside } from "../writing/side_call.ts";
import { type Giver, type GiverKey, giverRead } from "./role_giver.ts";
import { endedRolesOf, endedRolesShown, rolesOf, rolesShown } from "./user_role_list.ts";

/** All roles of users, from every organization. */
export const userRoleService = ({ log, sql, clock }: Deps) => {
  const userExists = userExistsRead(sql);
  const giverOf = giverRead(sql);

  return {
    async listUserRoles(request, call) {
      const page = pageOf(ListUserRolesRequestSchema, request, 2);
      await refuseUnknown(request.userId, call);
      const found = await rolesOf(sql, request.userId, page);
      const { rows, nextPageToken } = cut(found, page, ({ owner, id }) => [owner, id]);
      return { userRoles: rows.map(rolesShown), nextPageToken };
    },

    async endUserRoles(request, call) {
      const command = commandOf(request, call);
      const giver = await giverToChange(command, call);
      const kinds = kindsToEnd(giver, command);
      if (kinds.length === 0) return log.append(call, [], { details: details(giver), ...runningJob(giver, command) });
      const ended = endedFact(giver, command, kinds);
      const answerOf = (jobId?: string) => ({ details: detailsAfter(ended.at), ...(jobId && { jobId }) });
      const answer = await log.appendLong(call, ended, answerOf);
      await endLate(command, call);
      return answer;
    },

    async listEndedUserRoles(request, call) {
      const page = pageOf(ListEndedUserRolesRequestSchema, request, 2);
      await refuseUnknown(request.userId, call);
      const found = await endedRolesOf(sql, request.userId, page);
      const { rows, nextPageToken } = cut(found, page, ({ organizationId, kind }) => [organizationId, kind]);
      return { endedRoles: rows.map(endedRolesShown), nextPageToken };
    },

    async allowUserRoles(request, call) {
      const command = commandOf(request, call);
      const giver = await giverToChange(command, call);
      const kinds = kindsToAllow(giver, command);
      if (kinds.length === 0) return log.append(call, [], { details: details(giver) });
      if (wantedOf(giver, command).some(isBeingEnded)) throw refuse.because(stillThere.reason, stillThere);
      const at = next(giver, clock());
      const value = { organizationId: command.giver, kinds: [...kinds] };
      const allowed = factOf("user", at, { case: "rolesAllowed", value });
      return log.append(call, [allowed], { details: detailsAfter(at) });
    },
  } satisfies ServiceImpl<typeof UserRoleService>;

  async function refuseUnknown(id: string, call: Call): Promise<void> {
    if (!(await userExists({ owner: organizationOf(call), id }, call.signal))) throw refuse.notFound("user", id);
  }

  async function giverToChange(command: Command, call: Call): Promise<Giver> {
    const { owner, id, giver } = command;
    if (giver === owner) throw refuse.because("OWN_ORGANIZATION", { violations: [ownOrganization] });
    const found = await giverOf(keyOf(command), call.signal);
    if (!found) throw refuse.notFound("user", id);
    return found;
  }

  function endedFact(giver: Giver, { giver: organizationId, byAdministrator }: Command, kinds: readonly RoleKind[]) {
    const value = { organizationId, kinds: [...kinds], byAdministrator };
    return factOf("user", next(giver, clock()), { case: "rolesEnded", value });
  }

  /** Ends roles that were written while the others were being ended: the lock waits for every statement that did not see the end. */
  async function endLate(command: Command, call: Call): Promise<void> {
    await sql`select from users where user_id = ${command.id} for update`;
    for (let tries = 5; tries > 0; tries--) {
      const giver = await giverOf(keyOf(command), aside(call).signal);
      const late = giver ? wantedOf(giver, command).filter(({ isGiven, jobId }) => isGiven && jobId === null) : [];
      if (!giver || late.length === 0) return;
      const kinds = late.map(({ kind }) => kind);
      if (await log.append(aside(call), [endedFact(giver, command, kinds)], true).catch(lostRace)) return;
    }
  }
};

/** The user, the organization that gave the roles, and the caller. */
type Command = GiverKey & { readonly kind: RoleKind; readonly byAdministrator: boolean };

type CommandRequest = { readonly userId: string; readonly organizationId: string; readonly kind: RoleKind };

const commandOf = ({ userId: id, organizationId: giver, kind }: CommandRequest, call: Call): Command => ({
  owner: organizationOf(call),
  id,
  giver,
  kind,
  byAdministrator: id !== callerOf(call).userId,
});

const keyOf = ({ owner, id, giver }: Command): GiverKey => ({ owner, id, giver });

const wantedOf = ({ kinds }: Giver, { kind }: Command) =>
  kinds.filter((one) => kind === RoleKind.UNSPECIFIED || one.kind === kind);

/** Finds the kinds of roles to end. An organization that gave none counts as not found, whether or not it exists. */
function kindsToEnd(giver: Giver, command: Command): readonly RoleKind[] {
  if (!giver.kinds.some(({ isGiven, endedBy }) => isGiven || endedBy))
    throw refuse.notFound("organization", command.giver);
  const wanted = wantedOf(giver, command);
  const leaves = wanted.some(({ kind }) => kind === RoleKind.MEMBERSHIP);
  if (leaves && giver.isLastOwner && !command.byAdministrator) throw refuse.because("LAST_OWNER");
  return wanted
    .filter(
      ({ isGiven, endedBy, jobId }) =>
        (isGiven && jobId === null) || !endedBy || (command.byAdministrator && endedBy === "user"),
    )
    .map(({ kind }) => kind);
}

/** Whether ended roles still exist, which would come back if they were allowed again. */
const isBeingEnded = ({ isGiven, endedBy, isKept }: Giver["kinds"][number]): boolean =>
  isGiven && endedBy !== null && !isKept;

const stillThere = beingDeleted("organizationId");

function runningJob(giver: Giver, command: Command) {
  const jobId = wantedOf(giver, command).find((one) => one.jobId !== null)?.jobId;
  return jobId ? { jobId } : {};
}

/** Finds the kinds of roles to allow again; users undo only what they ended themselves. */
function kindsToAllow(giver: Giver, command: Command): readonly RoleKind[] {
  const ended = wantedOf(giver, command).filter(({ endedBy }) => endedBy);
  if (!command.byAdministrator && ended.some(({ endedBy }) => endedBy === "administrator"))
    throw refuse.because("PERMISSION_DENIED", { params: { permission: "user.write" } });
  return ended.map(({ kind }) => kind);
}

const ownOrganization: Violation = { field: "organizationId", text: "OWN_ORGANIZATION", reason: "OWN_ORGANIZATION" };

export const userRoleRules = [pageRule(ListUserRolesRequestSchema, 2), pageRule(ListEndedUserRolesRequestSchema, 2)];

export const userRoleLateRules = [EndUserRolesRequestSchema, AllowUserRolesRequestSchema].map((type) =>
  lateRule(type, ["organizationId"], async ({ organizationId }, call: Call) =>
    organizationId === organizationOf(call) ? [ownOrganization] : [],
  ),
);
