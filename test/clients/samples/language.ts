import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { errorText } from "../../../src/messages/catalogue.ts";
import { type Section, sectionsOf } from "../../fixture/reference_page.ts";
import { type Postern, startPostern } from "../../harness.ts";
import { type Command, ended } from "../command.ts";
import { found, type Toolchain } from "../toolchains.ts";

/** A language of the samples, and the command that runs one. */
export type Language = {
  readonly language: string;
  readonly toolchain: Toolchain;
  readonly file: string;
  readonly command: (path: string) => Command;
  /** Builds what the command needs; answers the folder where it is. */
  readonly build?: () => Promise<string>;
};

/** Declares the tests of the samples on the page of the reference in some languages. */
export function runsSamples(languages: readonly Language[]): void {
  let postern: Postern;
  let sections: readonly Section[];
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "postern-samples-"));
    postern = await startPostern();
    sections = await sectionsOf(postern.url);
    // A page for each operation.
  }, 600_000);
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
    await postern?.[Symbol.asyncDispose]();
  });

  for (const { language, toolchain, file, command, build = async () => "" } of languages)
    describe.skipIf(!found(toolchain))(`the samples in ${language} on the page of the reference`, () => {
      let bin = "";
      beforeAll(async () => {
        bin = await build();
      }, 600_000);

      const run = async (id: string, environment: Readonly<Record<string, string>> = {}) => {
        const path = join(folder, file);
        await writeFile(path, sections.find((section) => section.id === id)?.samples[language] ?? "");
        const variables = { URL: postern.url, TOKEN: postern.admin.token ?? "", ...environment };
        const env = { ...variables, PATH: `${bin}:${process.env.PATH}` };
        const { out, err } = await ended(command(path), { env });
        return out + err;
      };

      test("read and write as they stand", { timeout: 300_000 }, async () => {
        expect(await run("UserService-GetUser", { USER_ID: postern.adminId })).toContain(postern.adminId);
        expect(await run("UserService-GetUser", { USER_ID: "nobody" })).toContain(
          errorText("USER_NOT_FOUND", { id: "nobody" }),
        );
        const { userId, username } = await withPlus(postern);
        expect(await run("UserService-GetUserByLoginName", { LOGIN_NAME: username })).toContain(userId);
        const { body: before } = await postern.admin.get("/v1/projects");
        await run("ProjectService-CreateProject");
        const { body: after } = await postern.admin.get("/v1/projects");
        const ids = new Set(before.projects.map(({ id }: { id: string }) => id));
        const made = after.projects.filter(({ id }: { id: string }) => !ids.has(id));
        expect(made).toHaveLength(1);
        // The next language makes one of the same name.
        await postern.admin.delete(`/v1/projects/${made[0].id}`);
      });
    });
}

/** A user whose name means another one in a query where it is not encoded. */
async function withPlus({ admin }: Postern): Promise<{ userId: string; username: string }> {
  const username = `a+${Math.random().toString(36).slice(2)}`;
  const { body } = await admin.post("/v1/users/machine", { username, name: "Robot" });
  return { userId: body.userId, username };
}
