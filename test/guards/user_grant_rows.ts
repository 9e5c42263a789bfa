import type { Row } from "./matrix_rows.ts";

/** The rows of rpcs about user grants. */
export const userGrantRows: Readonly<Record<string, Row>> = {
  "UserGrantService.AddUserGrant": {
    needs: "user.grant.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ userId: await f.newUser(), projectId: f.projectId, ...f.grant, roleKeys: ["viewer"] }),
  },
  "UserGrantService.AddUserGrants": {
    needs: "user.grant.write",
    decides: "organization",
    reaches: "list",
    objectless: true,
    request: async (f) => ({
      items: [{ userId: await f.newUser(), projectId: f.projectId, ...f.grant, roleKeys: ["viewer"] }],
    }),
  },
  "UserGrantService.GetUserGrant": {
    needs: "user.grant.read",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ userGrantId: await f.newUserGrant() }),
  },
  "UserGrantService.ListUserGrants": {
    needs: "user.grant.read",
    decides: "organization",
    reaches: "list",
    objectless: true,
    request: () => ({}),
  },
  "UserGrantService.ChangeUserGrant": {
    needs: "user.grant.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ userGrantId: await f.newUserGrant(), roleKeys: [] }),
  },
  "UserGrantService.AddUserGrantRoles": {
    needs: "user.grant.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ userGrantId: await f.newUserGrant(), roleKeys: ["viewer"] }),
  },
  "UserGrantService.RemoveUserGrantRoles": {
    needs: "user.grant.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ userGrantId: await f.newUserGrant(), roleKeys: ["viewer"] }),
  },
  "UserGrantService.SetUserGrantExpiration": {
    needs: "user.grant.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ userGrantId: await f.newUserGrant(), expirationDate: "2100-01-01T00:00:00Z" }),
  },
  "UserGrantService.RemoveUserGrant": {
    needs: "user.grant.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ userGrantId: await f.newUserGrant() }),
  },
  "UserGrantService.DeactivateUserGrant": {
    needs: "user.grant.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ userGrantId: await f.newUserGrant() }),
  },
  "UserGrantService.ReactivateUserGrant": {
    needs: "user.grant.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ userGrantId: await f.newUserGrant() }),
  },
};
