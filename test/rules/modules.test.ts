import { readdirSync } from "node:fs";
import { join } from "node:path";
import { isObjectLiteralExpression, isSatisfiesExpression, isSpreadAssignment } from "typescript/unstable/ast/is";
import { afterAll, expect, test } from "vitest";
import { services } from "../../src/runtime/modules.ts";
import { handlers } from "../../src/services/module.ts";
import { nodesOf, openProgram, root, textOf } from "./tree.ts";

const program = openProgram(["src"]);
afterAll(() => program[Symbol.dispose]());

test("each service of the contract is served by one module", () => {
  const contract = readdirSync(join(root, "proto/postern/v1")).flatMap(
    (file) => /^service (\w+)/m.exec(textOf(`proto/postern/v1/${file}`))?.[1] ?? [],
  );
  expect(contract.length).toBeGreaterThan(10);
  expect(services.map(({ name }) => name).sort()).toEqual(contract.sort());
});

test("the compiler refuses an rpc with two handlers", () => {
  const [one, other] = [{ getUser: () => 1 }, { listUsers: () => 2 }];
  expect(Object.keys(handlers(one, other))).toEqual(["getUser", "listUsers"]);
  // @ts-expect-error: both have getUser
  handlers(one, { getUser: () => 3 });
  // @ts-expect-error: the first and the last have getUser
  handlers(one, other, { getUser: () => 3 });
});

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
