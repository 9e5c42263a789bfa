import { expect, test } from "vitest";
import { historyInFact, inFact, insertOf, type RowOf, selected } from "../../../src/services/reading/row.ts";

const columns = { owner: "text", isOpen: "boolean", closedBy: "text?", version: "bigint" } as const;
const inserted = insertOf({ table: "doors", id: "door_id" }, columns);

test("a select list reads each field from its column", () => {
  expect(selected("d", Object.keys(columns))).toBe(
    'd.owner, d.is_open as "isOpen", d.closed_by as "closedBy", d.version',
  );
});

test("a select list begins a new line where it is told to", () => {
  expect(selected("d", ["owner", "isOpen"], { lines: ["isOpen"], indent: 3 })).toBe(
    'd.owner,\n   d.is_open as "isOpen"',
  );
});

test("a field may be null only where its column may", () => {
  const open: RowOf<typeof columns> = { owner: "house", isOpen: true, closedBy: null, version: 1n };
  // @ts-expect-error: every door has an owner
  const unowned: RowOf<typeof columns> = { ...open, owner: null };
  expect(unowned).toEqual({ owner: null, isOpen: true, closedBy: null, version: 1n });
});

test("an insert writes owner and id of the fact, and each column with its value", () => {
  const { version } = historyInFact;
  expect(
    inserted([], { ...inFact("closedBy"), isOpen: "true", version }, { columns: ["version"], values: ["isOpen"] }),
  ).toBe(`insert into doors (owner, door_id, closed_by, is_open,
         version)
       select f.owner, f.stream, f.payload->>'closedBy',
         true, f.version`);
});

test("the compiler takes an insert that writes its row, and no other", () => {
  const { version } = historyInFact;
  const written = inserted(["closedBy"], { isOpen: "true", version });
  // @ts-expect-error: the insert lacks closed_by
  inserted([], { isOpen: "true", version });
  // @ts-expect-error: the row has no color
  inserted(["closedBy"], { isOpen: "true", color: "'red'", version });
  // @ts-expect-error: nor has it one that a fact names
  inserted(["closedBy"], { isOpen: "true", ...inFact("color"), version });
  // @ts-expect-error: no column that could keep its default has this name
  inserted(["closedBy", "color"], { isOpen: "true", version });
  expect(written).not.toContain("closed_by");
});
