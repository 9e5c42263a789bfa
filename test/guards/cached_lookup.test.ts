import { expect, test } from "vitest";
import { cachedLookup } from "../../src/guards/cached_lookup.ts";

function counted(most: number) {
  const asked: string[] = [];
  const found = cachedLookup(async (id) => {
    asked.push(id);
    return id.startsWith("no") ? undefined : `of ${id}`;
  }, most);
  return { asked, found };
}

test("what was found is not looked up again, what was not is", async () => {
  const { asked, found } = counted(5);
  for (const id of ["a", "a", "nobody", "nobody"]) await found(id);
  expect(asked).toEqual(["a", "nobody", "nobody"]);
  expect(await found("a")).toBe("of a");
});

test("what is asked for now and then stays, however much else is found", async () => {
  const { asked, found } = counted(5);
  for (let n = 0; n < 100; n++) {
    expect(await found("often")).toBe("of often");
    await found(`other ${n}`);
  }
  expect(asked.filter((id) => id === "often")).toHaveLength(1);
});

test("the newest are kept, as many as there is room for", async () => {
  const { asked, found } = counted(5);
  const all = ["a", "b", "c", "d", "e"];
  for (const id of [...all, ...all]) await found(id);
  expect(asked).toEqual(all);
});

test("what was not asked for in a long time is looked up again", async () => {
  const { asked, found } = counted(5);
  await found("once");
  for (let n = 0; n < 10; n++) await found(`other ${n}`);
  expect(await found("once")).toBe("of once");
  expect(asked.filter((id) => id === "once")).toHaveLength(2);
});
