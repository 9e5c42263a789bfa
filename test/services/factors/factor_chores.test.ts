import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { keyring } from "../../../src/security/seal.ts";
import { resealedFactors } from "../../../src/services/factors/factor_chores.ts";
import { secretContext } from "../../../src/services/factors/factor_read.ts";
import { withTotp } from "../../fixture/factors.ts";
import { type Postern, startPostern } from "../../harness.ts";
import { type Handlers, openHandlers } from "../../sent_statements.ts";

let postern: Postern;
let handlers: Handlers;
beforeAll(async () => {
  postern = await startPostern();
  handlers = openHandlers(postern);
});
afterAll(async () => {
  await handlers?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
});

test("after a rotation each batch seals the next factors anew, and none is looked at twice within the hour", async () => {
  for (let n = 0; n < 3; n++) await withTotp(postern);
  const { sql, secrets } = handlers.deps;
  const rotated = keyring([randomBytes(32), ...(postern.config.masterKeys ?? [])]);
  const factors = () =>
    sql<{ id: string; sealed: Buffer }[]>`select factor_id as id, sealed from factor_secrets order by factor_id`;
  const before = await factors();
  const { batch } = resealedFactors({ sql, secrets: { ...secrets, keyring: rotated } });
  expect(await batch(2)).toBe(2);
  expect((await factors()).map(({ sealed }) => rotated.isCurrent(sealed))).toEqual([true, true, false]);
  expect(await batch(2)).toBe(1);
  const after = await factors();
  expect(after.map(({ sealed }) => rotated.isCurrent(sealed))).toEqual([true, true, true]);
  const opened = ({ id, sealed }: (typeof after)[number]) => rotated.open(sealed, secretContext(id));
  expect(after.map(opened)).toEqual(before.map(opened));
  expect(await batch(2)).toBe(0);
});
