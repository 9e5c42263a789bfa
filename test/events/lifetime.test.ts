import { getOption } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { FactSchema } from "../../gen/postern/v1/event_pb.ts";
import { lifetime, Retention } from "../../gen/postern/v1/options_pb.ts";
import { crossNounTypes } from "../../src/events/cross_noun.ts";
import { expiring } from "../../src/events/retention.ts";
import { folds } from "../../src/runtime/modules.ts";

const { administration, sign_in: signIn } = expiring;
const ends = [...administration.ends, ...signIn.ends];

test("the contract says of every type of object how long its events are kept, and which one is the last", () => {
  for (const noun of FactSchema.fields) {
    const { retention } = getOption(noun, lifetime);
    expect([noun.name, retention]).not.toEqual([noun.name, Retention.UNSPECIFIED]);
    const hasEnd = ends.some((type) => type.startsWith(`${noun.name}.`));
    expect([noun.name, hasEnd]).toEqual([noun.name, retention !== Retention.ALWAYS]);
  }
  // Each attempt is an object of its own.
  const { attempt } = FactSchema.field;
  expect(ends.filter((type) => type.startsWith("attempt."))).toHaveLength(attempt.message?.fields.length ?? 0);
  expect(signIn.expires).toEqual({ session: "expirationDate" });
});

test("what an event deletes of other objects goes with the object of the event, or the event is kept", () => {
  const taking = [...crossNounTypes(folds)].filter((type) => ends.includes(type));
  expect(taking).toEqual(["user.deleted"]);
  const tables = namesIn("user.deleted", /delete\s+from\s+(\w+)/g);
  const makers = [...folds.keys()].filter((type) =>
    namesIn(type, /insert\s+into\s+(\w+)/g).some((table) => tables.includes(table)),
  );
  const nouns = new Set(makers.map((type) => type.split(".")[0] ?? ""));
  expect([...nouns].filter((noun) => noun !== "user").sort()).toEqual([...administration.withUser].sort());
  // The index events_ending_with_user has the events of these.
  expect(administration.withUser).toEqual(["factor", "consent"]);
});

const namesIn = (type: string, writing: RegExp): readonly string[] =>
  (folds.get(type)?.views ?? []).flatMap((text) =>
    [...text.matchAll(writing)].map(([, table = ""]) => table.replace(/^all_/, "")),
  );
