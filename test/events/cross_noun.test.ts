import { expect, test } from "vitest";
import { crossNounTypes } from "../../src/events/cross_noun.ts";
import { folds } from "../../src/runtime/modules.ts";

test("the order matters of facts that take along what facts about other objects brought", () => {
  const types = ["application.deleted", "organization.deleted", "organization.purged", "user.deleted"];
  expect([...crossNounTypes(folds)].sort()).toEqual(types);
});
