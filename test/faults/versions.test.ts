import { describe, expect, test } from "vitest";
import { doctor } from "../../src/maintenance/doctor.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { machine, signedUp, startPostern } from "../harness.ts";
import { quiet } from "../postgres/embedded/holder.ts";
import { startLoad } from "./load.ts";
import { startPostgres } from "./postgres.ts";
import { postgresBins, versionOf } from "./postgres_versions.ts";

const versions = postgresBins().map((bin) => ({ version: versionOf(bin), bin }));
const [old, recent] = [true, false].map((isOld) =>
  versions.filter(({ version }) => Number.parseInt(version, 10) < 15 === isOld),
);

describe("PostgreSQL", () => {
  test("is installed in a version that is served", () => {
    expect(recent).not.toEqual([]);
  });

  for (const { version, bin } of recent ?? [])
    test(`${version} takes every migration, serves people and writers, and its log replays`, async () => {
      await using server = await startPostgres(bin);
      await using postern = await startPostern({ databaseUrl: server.url });
      const { client } = await signedUp(postern);
      expect((await client.get("/v1/users/me")).status).toBe(200);
      const userIds = (await Promise.all(Array.from({ length: 4 }, () => machine(postern)))).map(
        ({ userId }) => userId,
      );
      const load = startLoad({ url: postern.url, token: postern.admin.token ?? "", userIds });
      await load.more(100);
      await load.stop();
      expect(load.failures).toEqual([]);
      expect((await postern.admin.delete(`/v1/users/${userIds[0]}`)).status).toBe(200);
      expect(await doctor(postern.config, { rebuild: true })).toMatchObject({ ok: true });
    });

  for (const { version, bin } of old ?? [])
    test(`${version} is refused by its version`, async () => {
      await using server = await startPostgres(bin);
      await expect(migrate({ url: server.url, log: quiet })).rejects.toThrow(
        `The database is PostgreSQL ${version}, which is too old: 15 or newer is needed`,
      );
    });
});
