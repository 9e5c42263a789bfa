import { expect, test } from "vitest";
import { NoPlace, placesFor } from "../../src/security/places.ts";
import type { Share } from "../../src/security/turns.ts";
import { namedWork } from "../fixture/named_work.ts";

/** Four places, and work of organizations that lasts until it is ended. */
function openPlaces(waitMs = 60_000) {
  const inPlace = placesFor({ limit: 4, waitMs });
  const work = namedWork();
  const start = (name: string, signal?: AbortSignal) => {
    const shares: [Share] = [[name.slice(0, 1), "caller"]];
    return inPlace(work.of(name), { shares, signal });
  };
  return { ...work, start };
}

test("two organizations that always want more do not keep a third one waiting for longer than one piece of work", async () => {
  const { begun, start, finish, settled } = openPlaces();
  const all = ["a1", "a2", "a3", "a4", "b1", "b2", "a5", "b3"].map((name) => start(name));
  await settled();
  expect(begun).toEqual(["a1", "a2", "a3", "b1"]);
  const third = start("c1");
  await finish("a1");
  expect(begun.at(-1)).toBe("c1");
  await finish("c1");
  expect(await third).toBe("c1");
  for (const name of ["a2", "a3", "b1", "b2", "a4", "b3", "a5"]) await finish(name);
  expect(await Promise.all(all)).toHaveLength(8);
});

test("work that fails gives its place back, and so does work whose caller leaves while it is under way", async () => {
  const { begun, start, finish, settled } = openPlaces();
  const leaving = new AbortController();
  const failing = start("a1").catch((error: unknown) => error);
  const left = start("b1", leaving.signal).catch((error: unknown) => error);
  await settled();
  leaving.abort(new Error("gone"));
  await finish("a1", new Error("broken"));
  await finish("b1", new Error("stopped"));
  expect(await Promise.all([failing, left])).toEqual([new Error("broken"), new Error("stopped")]);
  void ["a2", "b2", "c2", "d2"].map((name) => start(name));
  await settled();
  expect(begun.slice(2)).toEqual(["a2", "b2", "c2", "d2"]);
  for (const name of ["a2", "b2", "c2", "d2"]) await finish(name);
});

test("a caller who leaves while it waits is refused at once, and its work never begins", async () => {
  const { begun, start, finish } = openPlaces();
  const all = ["a1", "b1", "c1", "d1"].map((name) => start(name));
  const leaving = new AbortController();
  const waiting = ["e1", "e2"].map((name) => start(name, leaving.signal).catch((error: unknown) => error));
  const other = start("e3");
  leaving.abort(new Error("gone"));
  // All places are still taken.
  expect(await Promise.all(waiting)).toEqual([new Error("gone"), new Error("gone")]);
  expect(await start("f1", leaving.signal).catch((error: unknown) => error)).toEqual(new Error("gone"));
  await finish("a1");
  expect(begun).toEqual(["a1", "b1", "c1", "d1", "e3"]);
  for (const name of ["b1", "c1", "d1", "e3"]) await finish(name);
  expect(await Promise.all([...all, other])).toHaveLength(5);
});

test("work that gets no place in time is refused, and takes none afterwards", async () => {
  const { begun, start, finish } = openPlaces(20);
  const all = ["a1", "b1", "c1", "d1"].map((name) => start(name));
  expect(await start("e1").catch((error: unknown) => error)).toBeInstanceOf(NoPlace);
  for (const name of ["a1", "b1", "c1", "d1"]) await finish(name);
  await Promise.all(all);
  expect(begun).toEqual(["a1", "b1", "c1", "d1"]);
});
