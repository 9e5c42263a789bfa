import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { ExplainedKind, GrantProblem } from "../../../gen/postern/v1/explanation_pb.ts";
import { type ObjectShown, organizationShown } from "./explained_object.ts";
import type { Explained, GrantFound } from "./explained_read.ts";

/** Whether the roles of a grant count. */
export const isInEffect = ({ active, shutIn }: GrantFound): boolean => active && shutIn === "";

/** The grants of a user in the project, as the response shows them. */
export const grantsShown = (found: Explained) =>
  found.grants.map((grant) => {
    const { id, owner, projectGrantId, roleKeys, ends } = grant;
    return {
      userGrantId: id,
      organizationId: owner,
      ...(projectGrantId === null ? {} : { projectGrantId }),
      roleKeys: [...roleKeys],
      ...problemOf(grant, found),
      ...(ends === null ? {} : { expirationDate: timestampFromDate(new Date(ends)) }),
    };
  });

export const grantObject = ({ id, owner }: GrantFound): ObjectShown => ({
  kind: ExplainedKind.USER_GRANT,
  id,
  organizationId: owner,
});

/** The reason why a grant has no effect, and the object to change. */
export function problemOf(grant: GrantFound, found: Explained): { problem?: GrantProblem; object?: ObjectShown } {
  const { active, shutIn, owner } = grant;
  const { client, isOrganizationActive } = found;
  if (!active) return { problem: GrantProblem.INACTIVE, object: grantObject(grant) };
  switch (shutIn) {
    case "project":
      return { problem: GrantProblem.PROJECT_INACTIVE, object: projectObject(found) };
    case "organization":
      return {
        problem: GrantProblem.ORGANIZATION_INACTIVE,
        object: organizationShown(isOrganizationActive ? owner : client.owner),
      };
    case "user":
      return { problem: GrantProblem.GIVEN_UP, object: grantObject(grant) };
    case "time":
      return { problem: GrantProblem.EXPIRED, object: grantObject(grant) };
    case "":
      return {};
  }
}

export const projectObject = ({ client: { projectId, owner } }: Explained): ObjectShown => ({
  kind: ExplainedKind.PROJECT,
  id: projectId,
  organizationId: owner,
});
