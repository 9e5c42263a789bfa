import { newKey } from "./client.ts";
import { Refusal } from "./refusal.ts";

/** A value, and the version of the object that it is a part of. */
export type At<T> = { readonly value: T; readonly sequence: string };

type Write<T> = {
  /** What the writer has seen. */
  readonly seen: At<T>;
  readonly read: () => Promise<At<T>>;
  readonly write: (sequence: string, key: string) => Promise<unknown>;
  readonly key: string;
};

/** Writes a part of an object. If meanwhile only other parts of it changed, it is written to the version of now. */
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
