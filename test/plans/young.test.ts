import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freshDatabase } from "../database.ts";
import { openClient } from "../fixture/database_client.ts";
import { root } from "../rules/tree.ts";
import { planAsTheService } from "./plan.ts";

const folders = ["test/statements", "test/provider/statements"];

/** The statements that the service sends, as files show them. */
const statements = folders
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  )
  .filter((file) => file.endsWith(".sql"))
  .flatMap((file) => readFileSync(join(root, file), "utf8").split(/;\n/))
  .map((text) => text.replace(/^\s*--.*\n/gm, "").trim())
  .filter((text) => /^(with|select|insert|update|delete)\b/.test(text));

test("a plan that was made while the tables were empty hashes none of them, which would be read whole once they are full", async () => {
  await using database = await freshDatabase();
  await using sql = openClient(database.url);
  await planAsTheService(sql.client);
  await sql.client.unsafe("vacuum analyze");
  const hashing: string[] = [];
  for (const text of new Set(statements)) {
    const rows = await sql.client.unsafe<{ "QUERY PLAN": string }[]>(`explain (generic_plan) ${text}`);
    if (rows.some((row) => row["QUERY PLAN"].includes("(hashed SubPlan"))) hashing.push(text);
  }
  expect(hashing).toEqual([]);
  expect(statements.length).toBeGreaterThan(100);
});
