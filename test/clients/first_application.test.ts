import { expect, test } from "vitest";
import { startPostern } from "../harness.ts";
import { textOf } from "../rules/tree.ts";
import { ended } from "./command.ts";
import { found } from "./toolchains.ts";

/** The commands in the part of the README on the first application: each begins with curl. */
function commandsOf(): string[] {
  const part = textOf("README.md").split("\n## Your first application\n")[1]?.split("\n## ")[0] ?? "";
  const blocks = [...part.matchAll(/```sh\n(.*?)```/gs)].map(([, block = ""]) => block);
  return blocks.flatMap((block) => block.split(/^(?=curl )/m)).filter((command) => command.startsWith("curl "));
}

test.skipIf(!found("curl"))("the first application of the README works as it is written", async () => {
  await using postern = await startPostern();
  const { projectId } = (await postern.admin.post("/v1/projects", { name: "Sample" })).body;
  await postern.admin.post(`/v1/projects/${projectId}/roles`, { key: "editor", displayName: "Editor" });
  const env: Record<string, string> = { URL: postern.url, TOKEN: postern.admin.token ?? "", PROJECT: projectId };
  const run = async (command = "") => JSON.parse((await ended(["sh", "-c", command], { env })).out);
  const [create, grant, signIn, ask, ...others] = commandsOf();
  expect(others).toEqual([]);
  env.USER_ID = (await run(create)).userId;
  expect(await run(grant)).toMatchObject({ userGrantId: expect.any(String) });
  env.SESSION_TOKEN = (await run(signIn)).token;
  expect(await run(ask)).toMatchObject({ user: { username: "ada" }, projectRoles: [{ projectId, roleKey: "editor" }] });
});
