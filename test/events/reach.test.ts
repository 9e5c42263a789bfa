import { expect, test } from "vitest";
import { reaching } from "../../src/events/reach.ts";
import { folds } from "../../src/runtime/modules.ts";

test("the order matters of facts that take along what facts about other objects brought", () => {
  expect([...reaching(folds)].sort()).toEqual(["application.deleted", "organization.purged", "user.deleted"]);
});
