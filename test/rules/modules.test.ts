import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { services } from "../../src/runtime/modules.ts";
import { joined } from "../../src/services/module.ts";
import { root, textOf } from "./tree.ts";

test("each service of the contract is served by one module", () => {
  const contract = readdirSync(join(root, "proto/postern/v1")).flatMap(
    (file) => /^service (\w+)/m.exec(textOf(`proto/postern/v1/${file}`))?.[1] ?? [],
  );
  expect(contract.length).toBeGreaterThan(10);
  expect(services.map(({ name }) => name).sort()).toEqual(contract.sort());
});

test("the compiler refuses an rpc with two handlers", () => {
  const [one, other] = [{ getUser: () => 1 }, { listUsers: () => 2 }];
  expect(Object.keys(joined(one, other))).toEqual(["getUser", "listUsers"]);
  // @ts-expect-error: both have getUser
  joined(one, { getUser: () => 3 });
});
