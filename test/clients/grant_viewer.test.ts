import { expect, test } from "vitest";
import { errorText } from "../../src/messages/catalogue.ts";
import { fixtureOf } from "../fixture/organization.ts";
import { startPostern } from "../harness.ts";
import { grantViewer } from "./grant_viewer.ts";

test("gives a user a role as in the README, and tells whether that was news", async () => {
  await using postern = await startPostern();
  const { projectId, userId } = await fixtureOf(postern, postern.organizationId);
  const wanted = { baseUrl: postern.url, token: postern.admin.token ?? "", userId, projectId };
  expect(await grantViewer(wanted)).toBe(true);
  const { body } = await postern.admin.get(`/v1/users/${userId}/grants`);
  expect(body.userGrants).toMatchObject([{ projectId, roleKeys: ["viewer"] }]);
  expect(await grantViewer(wanted)).toBe(false);
  await expect(grantViewer({ ...wanted, userId: "nobody" })).rejects.toThrow(
    errorText("USER_NOT_FOUND", { id: "nobody" }),
  );
});
