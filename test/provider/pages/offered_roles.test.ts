import { expect, test } from "vitest";
import { offersIn } from "../../../src/provider/pages/offered_roles.ts";

test("what is offered is said in words, and a place without roles stands alone", () => {
  const offered = {
    ...{ organizationName: "Acme", projectNames: { p1: "Shop" } },
    memberships: [{ projectId: "", roles: ["ORG_VIEWER"] }],
    grants: [
      { projectId: "p1", roleKeys: ["editor", "buyer"] },
      { projectId: "p1", roleKeys: [] },
    ],
  };
  expect(offersIn({ language: "en" }, offered)).toEqual(["Acme: Viewer", "Shop: editor, buyer", "Shop"]);
});
