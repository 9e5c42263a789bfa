import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { ServiceImpl } from "@connectrpc/connect";
import { isObjectLiteralExpression, isSatisfiesExpression, isSpreadAssignment } from "typescript/unstable/ast/is";
import { afterAll, expect, test } from "vitest";
import type { JobService } from "../../gen/postern/v1/job_pb.ts";
import type { NameService } from "../../gen/postern/v1/name_pb.ts";
import { contract } from "../../src/contract/services.ts";
import { services } from "../../src/runtime/modules.ts";
import { type HandlesEachRpc, handlers } from "../../src/services/module.ts";
import { nodesOf, openProgram, root, textOf } from "./tree.ts";

const program = openProgram(["src"]);
afterAll(() => program[Symbol.dispose]());

test("the services of the contract are those of the proto files, each by its name", () => {
  const declared = readdirSync(join(root, "proto/postern/v1")).flatMap(
    (file) => /^service (\w+)/m.exec(textOf(`proto/postern/v1/${file}`))?.[1] ?? [],
  );
  expect(declared.length).toBeGreaterThan(10);
  expect(services.map(({ name }) => name).sort()).toEqual(declared.sort());
  expect(Object.entries(contract).map(([key, { name }]) => [key, name])).toEqual(
    services.map(({ name }) => [name, name]),
  );
});

test("the compiler refuses an rpc with two handlers in one module", () => {
  const [one, other] = [{ getUser: () => 1 }, { listUsers: () => 2 }];
  expect(Object.keys(handlers(one, other))).toEqual(["getUser", "listUsers"]);
  // @ts-expect-error: both have getUser
  handlers(one, { getUser: () => 3 });
  // @ts-expect-error: the first and the last have getUser
  handlers(one, other, { getUser: () => 3 });
});

type Contract = Pick<typeof contract, "JobService" | "NameService">;
type Names = { readonly serves: { readonly NameService: () => Pick<ServiceImpl<typeof NameService>, "getNames"> } };
type Jobs<K extends keyof ServiceImpl<typeof JobService>> = {
  readonly serves: { readonly JobService: () => Pick<ServiceImpl<typeof JobService>, K> };
};
type Reads = Jobs<"getJob" | "listJobs">;
type Handles<M extends readonly unknown[]> = HandlesEachRpc<Contract, M>;

test("the compiler refuses an rpc with no handler or two, whichever modules have them", () => {
  true satisfies Handles<[Reads, { readonly folds: object }, Jobs<"waitForJob">, Names]>;
  const faults = [
    "JobService.waitForJob has no handler" satisfies keyof Handles<[Reads, Names]>,
    "NameService.getNames has no handler" satisfies keyof Handles<[Reads, Jobs<"waitForJob">]>,
    "JobService.getJob has two handlers" satisfies keyof Handles<[Reads, Names, Jobs<"waitForJob" | "getJob">]>,
    "JobService.waitForJob may have no handler" satisfies keyof Handles<[Reads, Optional, Names]>,
    "JobService.stopJob is no rpc" satisfies keyof Handles<[Reads, Jobs<"waitForJob">, Names, Foreign]>,
  ];
  expect(new Set(faults).size).toBe(faults.length);
  // @ts-expect-error: nothing handles waitForJob
  true satisfies Handles<[Reads, Names]>;
  // @ts-expect-error: two handle getJob
  true satisfies Handles<[Reads, Names, Jobs<"waitForJob" | "getJob">]>;
});

type Optional = { readonly serves: { readonly JobService: () => { waitForJob?: () => object } } };
type Foreign = { readonly serves: { readonly JobService: () => { stopJob: () => object } } };

test("no handlers are spread, because a spread would replace a handler in silence", () => {
  const services = program.sources.flatMap(({ path, ast }) =>
    [...nodesOf(ast)].filter(isSatisfiesExpression).flatMap(({ expression, type }) => {
      if (!type.getText().includes("ServiceImpl<") || !isObjectLiteralExpression(expression)) return [];
      return [{ path, spreads: expression.properties.filter(isSpreadAssignment).map((one) => one.getText()) }];
    }),
  );
  expect(services.length).toBeGreaterThan(20);
  expect(services.filter(({ spreads }) => spreads.length > 0)).toEqual([]);
});
