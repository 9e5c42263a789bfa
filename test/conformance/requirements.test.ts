import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root, textOf } from "../rules/tree.ts";
import { ofSpecifications } from "./openid/further_requirements.ts";
import { listed } from "./openid/listed.ts";
import { plans } from "./openid/plans.ts";
import { ofPlans } from "./openid/requirements.ts";

const all = Object.entries({ ...ofPlans, ...ofSpecifications }).flatMap(([name, requirements]) =>
  requirements.map((requirement) => ({ name, ...requirement })),
);

test("each requirement is shown by tests that exist, by their file and their name", () => {
  const shown = all.flatMap(({ shown }) => shown);
  expect(all.filter(({ shown }) => shown.length === 0)).toEqual([]);
  const missing = shown.filter(([file, name]) => {
    if (!existsSync(join(root, file))) return true;
    return !textOf(file).includes(`"${name}"`);
  });
  expect(missing).toEqual([]);
});

test("each plan that the suite is run with has its requirements, and no other plan", () => {
  expect(Object.keys(ofPlans).sort()).toEqual(plans.map(({ name }) => name).sort());
});

test("each module whose findings are listed is of a requirement", () => {
  const modules = new Set(Object.values(ofPlans).flatMap((of) => of.flatMap(({ modules = [] }) => modules)));
  expect(listed.map(({ module }) => module).filter((module) => !modules.has(module))).toEqual([]);
});
