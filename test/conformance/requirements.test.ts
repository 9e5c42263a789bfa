import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { root, textOf } from "../rules/tree.ts";
import { ofSpecifications } from "./openid/further_requirements.ts";
import { listed } from "./openid/listed.ts";
import { plans } from "./openid/plans.ts";
import { ofPlans } from "./openid/requirements.ts";

const all = Object.entries({ ...ofPlans, ...ofSpecifications }).flatMap(([of, requirements]) =>
  requirements.map(({ section, says, shown }) => [`${of}, ${section}: ${says}`, shown] as const),
);

describe("each requirement is shown by tests that exist, by their file and their name", () => {
  test.each(all)("%s", (_, shown) => {
    expect(shown.length).toBeGreaterThan(0);
    const isThere = ([file, name]: (typeof shown)[number]) =>
      existsSync(join(root, file)) && textOf(file).includes(`"${name}"`);
    expect(shown.filter((one) => !isThere(one))).toEqual([]);
  });
});

test("each plan that the suite is run with has its requirements, and no other plan", () => {
  expect(Object.keys(ofPlans).sort()).toEqual(plans.map(({ name }) => name).sort());
});

test("each module whose findings are listed is of a requirement", () => {
  const modules = new Set(Object.values(ofPlans).flatMap((of) => of.flatMap(({ modules = [] }) => modules)));
  expect(listed.map(({ module }) => module).filter((module) => !modules.has(module))).toEqual([]);
});
