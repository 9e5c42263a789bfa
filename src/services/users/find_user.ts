import type { ServiceImpl } from "@connectrpc/connect";
import { ObjectKind } from "../../../gen/postern/v1/name_pb.ts";
import { FindUserRequestSchema, type UserService } from "../../../gen/postern/v1/user_pb.ts";
import { type Call, callerOf, type Deps, organizationOf, reachOf } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { messageRule } from "../../rules.ts";
import { organizationIsThere } from "../callers/in_force.ts";
import { type NameKey, nameAsked, nameOnlyKey, userNamed } from "../callers/login_name.ts";
import { objectName } from "../names/name.ts";

export type FindSettings = { readonly signInFailuresPerAddressPerMinute: number };

/** Finds users by their login names, for callers who give roles on a project or a project grant. */
export const userFinding = ({ sql, failureRate }: Pick<Deps, "sql" | "failureRate">, settings: FindSettings) => {
  const find = findingRead(sql);
  const misses = failureRate("names of users", settings.signInFailuresPerAddressPerMinute);

  return {
    async findUser({ loginName, projectId, projectGrantId }, call) {
      const { userId: caller } = callerOf(call);
      const waitMs = misses.waitMs(caller, performance.now());
      if (waitMs > 0) throw refuse.because("RATE_LIMIT", { retrySeconds: Math.ceil(waitMs / 1000) });
      const owner = organizationOf(call);
      const name = nameOnlyKey({ loginName, organizationId: owner });
      const found = await find(
        { ...name, owner, project_id: projectId, project_grant_id: projectGrantId },
        call.signal,
      );
      refuseObject({ projectId, projectGrantId }, found, call);
      if (found?.user) return { user: objectName({ kind: ObjectKind.USER, owner, ...found.user }) };
      misses.count(caller, performance.now());
      throw refuse.notFound("user", loginName);
    },
  } satisfies Pick<ServiceImpl<typeof UserService>, "findUser">;
};

export const findUserRules = [messageRule(FindUserRequestSchema, wrongObject, ["projectId", "projectGrantId"])];

function wrongObject({ projectId, projectGrantId }: ObjectIds): Violation[] {
  if (projectId || projectGrantId) return [];
  return [{ field: "projectId", text: "FIELD_OR", params: { other: "projectGrantId" }, reason: "REQUIRED" }];
}

type ObjectIds = { readonly projectId: string; readonly projectGrantId: string };

type Finding = {
  /** Whether the organization owns the project, or was granted it. */
  readonly hasProject: boolean;
  /** The project of the project grant, if it is one of the organization, or one that it was granted. */
  readonly grantedProject: string | null;
  readonly isGiver: boolean | null;
  readonly user: { readonly id: string; readonly name: string; readonly loginName: string } | null;
};

/** Refuses a project or project grant that is not the organization's, or beyond the caller's reach. */
function refuseObject({ projectId, projectGrantId }: ObjectIds, found: Finding | undefined, call: Call): void {
  if (projectId && !found?.hasProject) throw refuse.notFound("project", projectId);
  if (projectGrantId && !isReachable({ projectId, projectGrantId }, found, call))
    throw refuse.notFound("project_grant", projectGrantId);
}

function isReachable({ projectId, projectGrantId }: ObjectIds, found: Finding | undefined, call: Call): boolean {
  const project = found?.grantedProject;
  if (!project || (projectId && projectId !== project)) return false;
  const reach = reachOf(call);
  if (reach.whole || reach.projectGrants.includes(projectGrantId)) return true;
  return found.isGiver === true && reach.projects.includes(project);
}

type FindKey = NameKey & { readonly owner: string; readonly project_id: string; readonly project_grant_id: string };

const received = (grant: string) =>
  `${grant}.granted_organization_id = asked.owner and ${organizationIsThere(`${grant}.owner`)}`;

const findingRead = (sql: Sql) =>
  loadOne<FindKey, Finding>(sql, {
    asked: `${nameAsked}, owner text, project_id text, project_grant_id text`,
    select: `select n, exists (
        select from projects p where p.owner = asked.owner and p.project_id = asked.project_id offset 0) or exists (
        select from project_grants g where g.project_id = asked.project_id and ${received("g")} offset 0) as "hasProject",
      o.project_id as "grantedProject", o.owner = asked.owner as "isGiver",
      case when u.user_id is not null then jsonb_build_object('id', u.user_id,
        'name', user_name(u.name, u.given_name, u.family_name), 'loginName', u.username) end as "user"
      from asked join ${userNamed}
      left join lateral (
        select g.project_id, g.owner from project_grants g
        where g.project_grant_id = asked.project_grant_id and (g.owner = asked.owner or ${received("g")}) limit 1) o on true
      left join lateral (
        select * from users u where u.owner = asked.owner and u.user_id = l.user_id limit 1) u on true`,
  });
