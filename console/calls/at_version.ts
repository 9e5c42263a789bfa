import { newKey } from "./client.ts";
import { Refusal } from "./refusal.ts";

/** A value, and the version of the object that it is a part of. */
export type At<T> = { readonly value: T; readonly sequence: string };

type Write<T> = {
  /** The value that the writer has seen. */
  readonly seen: At<T>;
  readonly read: () => Promise<At<T>>;
  readonly write: (sequence: string, key: string) => Promise<unknown>;
  readonly key: string;
};

/** Writes a part of an object. If only other parts of it changed meanwhile, it is written at the current version. */
export async function atVersion<T>({ seen, read, write, key }: Write<T>): Promise<void> {
  try {
    await write(seen.sequence, key);
  } catch (error) {
    if (!(error instanceof Refusal) || error.reason !== "CONFLICT") throw error;
    const now = await read();
    if (JSON.stringify(now.value) !== JSON.stringify(seen.value)) throw error;
    await write(now.sequence, newKey());
  }
}
