import { toBinary } from "@bufbuild/protobuf";
import { AddUserGrantRequestSchema } from "../../gen/postern/v1/user_grant_pb.ts";
import { CreateUsersItemSchema } from "../../gen/postern/v1/user_pb.ts";
import type { Note } from "./import_note.ts";
import type { Item } from "./item.ts";

/** An item with its place in the file. */
export type Placed<I extends Item = Item> = {
  readonly at: string;
  readonly json: unknown;
  readonly item: I;
  /** The parts that could not be transferred unchanged. */
  readonly notes: Note[];
};

/** Items of one kind, sent together. */
export type Batch = { readonly kind: Item["kind"]; readonly items: readonly Placed[] };

// Below the limits of the requests: 1 MiB, 500 users with 50 passwords, 1,000 grants with 10,000 role keys.
const limits = { bytes: 900_000, passwords: 50, roleKeys: 10_000 };
const mostItems = { user: 500, grant: 1000, project: 20, application: 20, apiApplication: 20 } as const;

/**
 * Batches consecutive items of one kind. A batch of another kind starts only when all earlier ones are done, because an item may depend on
 * those before it.
 */
export async function* batchesOf(items: AsyncIterable<Placed>): AsyncGenerator<Batch> {
  let batch: Placed[] = [];
  let [bytes, passwords, roleKeys] = [0, 0, 0];
  for await (const placed of items) {
    const { kind } = placed.item;
    const size = sizeOf(placed.item);
    const isFull =
      batch.length === mostItems[kind] ||
      bytes + size.bytes > limits.bytes ||
      passwords + size.passwords > limits.passwords ||
      roleKeys + size.roleKeys > limits.roleKeys;
    const first = batch[0]?.item.kind;
    if (first && (first !== kind || isFull)) {
      yield { kind: first, items: batch };
      [batch, bytes, passwords, roleKeys] = [[], 0, 0, 0];
    }
    batch.push(placed);
    bytes += size.bytes;
    passwords += size.passwords;
    roleKeys += size.roleKeys;
  }
  const last = batch[0]?.item.kind;
  if (last) yield { kind: last, items: batch };
}

type Size = { readonly bytes: number; readonly passwords: number; readonly roleKeys: number };

const framing = 8;

function sizeOf(item: Item): Size {
  switch (item.kind) {
    case "user": {
      const { kind } = item.user;
      const passwords = kind.case === "human" && kind.value.password !== undefined ? 1 : 0;
      return { bytes: toBinary(CreateUsersItemSchema, item.user).length + framing, passwords, roleKeys: 0 };
    }
    case "grant": {
      const bytes = toBinary(AddUserGrantRequestSchema, item.grant).length + 40 + framing;
      return { bytes, passwords: 0, roleKeys: item.grant.roleKeys.length };
    }
    case "project":
    case "application":
    case "apiApplication":
      return { bytes: 0, passwords: 0, roleKeys: 0 };
  }
}
