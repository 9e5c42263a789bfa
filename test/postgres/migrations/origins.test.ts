import { expect, test } from "vitest";
import { freshDatabase } from "../../database.ts";
import { openClient } from "../../fixture/database_client.ts";

const applications: readonly (readonly [oidc: object | null, origins: readonly string[]])[] = [
  [null, []],
  [{}, []],
  [{ redirectUris: [], additionalOrigins: [] }, []],
  [{ redirectUris: ["HTTPS://Shop.Example.com/callback?x=1"] }, ["https://shop.example.com"]],
  [{ redirectUris: ["http://localhost:3000", "com.example.app:/callback", "xhttp://b"] }, ["http://localhost:3000"]],
  [
    { redirectUris: ["https://b/1", "https://b#2"], additionalOrigins: ["https://a", "https://b"] },
    ["https://a", "https://b"],
  ],
];

test("the origins of an application are its additional ones, and those of its redirect URIs on the web", async () => {
  await using database = await freshDatabase();
  await using sql = openClient(database.url);
  for (const [oidc, origins] of applications) {
    const [row] = await sql.client.unsafe<{ found: string[] }[]>("select origins_of($1::text::jsonb) as found", [
      oidc && JSON.stringify(oidc),
    ]);
    expect([...new Set(row?.found)].sort()).toEqual(origins);
  }
});
