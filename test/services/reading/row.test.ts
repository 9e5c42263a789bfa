import { expect, test } from "vitest";
import { type Inserted, type RowOf, selected } from "../../../src/services/reading/row.ts";

const columns = { owner: "text", isOpen: "boolean", closedBy: "text?" } as const;
const inserted: Inserted<typeof columns, "door_id"> = (_, list) => list;

test("a select list reads each field from its column", () => {
  expect(selected("d", Object.keys(columns))).toBe('d.owner, d.is_open as "isOpen", d.closed_by as "closedBy"');
});

test("a field may be null only where its column may", () => {
  const open: RowOf<typeof columns> = { owner: "house", isOpen: true, closedBy: null };
  // @ts-expect-error: every door has an owner
  const unowned: RowOf<typeof columns> = { ...open, owner: null };
  expect(unowned).toEqual({ owner: null, isOpen: true, closedBy: null });
});

test("the compiler takes an insert that writes its row, and no other", () => {
  const list = "owner, door_id,\n  is_open";
  const nothing = [] as const;
  expect(inserted(["closedBy"], list)).toBe(list);
  // @ts-expect-error: the insert lacks closed_by
  inserted(nothing, list);
  // @ts-expect-error: the insert lacks door_id
  inserted(["closedBy"], "owner, is_open");
  // @ts-expect-error: the row has no color
  inserted(["closedBy"], "owner, door_id, is_open, color");
  // @ts-expect-error: no column that could keep its default has this name
  inserted(["closedBy", "color"], list);
});
