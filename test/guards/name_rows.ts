import type { Row } from "./matrix_rows.ts";

/** Names of objects by their ids, and users by their names: a part of the permission matrix. */
export const nameRows: Readonly<Record<string, Row>> = {
  "NameService.GetNames": {
    needs: "caller",
    decides: "nobody",
    request: ({ organizationId, userId, projectId }) => ({ ids: [organizationId, userId, projectId] }),
  },
  "UserService.FindUser": {
    needs: "user.grant.write",
    instead: ["member.write"],
    decides: "organization",
    reaches: "project",
    request: ({ loginName, projectId, grant }) => ({ loginName, projectId, ...grant }),
  },
};
