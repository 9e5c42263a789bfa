import { join } from "node:path";
import { expect, test } from "vitest";
import { canHaveOwnNames, nameServer, withOwnNames } from "../fixture/own_name_server.ts";

const file = join(import.meta.dirname, "silent_names.ts");

test.skipIf(!canHaveOwnNames)(
  "name servers that never answer hold up no other look-up of the process",
  { timeout: 240_000 },
  async () => {
    const [first, ...others] = (await withOwnNames({ file, args: [nameServer] })).trim().split(",");
    expect(first).toBe("localhost");
    expect(others).toHaveLength(16);
    expect(others.filter((code) => !["ETIMEDOUT", "ABORT_ERR"].includes(code))).toEqual([]);
  },
);
