import { describe, expect, test } from "vitest";
import { type Postern, startPostern } from "../harness.ts";
import { textOf } from "../rules/tree.ts";
import { ended } from "./command.ts";
import { found } from "./toolchains.ts";

/** The commands of a page that begin with curl. */
const curlsOf = (page: string): string[] =>
  [...textOf(page).matchAll(/```sh\n(curl .*?)```/gs)].map(([, command = ""]) => command);

const environmentOf = ({ url, admin }: Postern): Record<string, string> => ({ URL: url, TOKEN: admin.token ?? "" });

/** Runs a command in a shell; answers the JSON that it prints. */
const printed = async (env: Readonly<Record<string, string>>, command = "") =>
  JSON.parse((await ended(["sh", "-c", command], { env })).out);

describe.skipIf(!found("curl"))("as they are written, the commands", () => {
  test("for a command line tool, and those of a device, work", async () => {
    await using postern = await startPostern();
    const env = environmentOf(postern);
    const [project, create] = curlsOf("examples/device/README.md");
    env.PROJECT = (await printed(env, project)).projectId;
    env.CLIENT_ID = (await printed(env, create)).clientId;
    const [begin, ask] = curlsOf("docs/sign-in.md").filter((command) => command.includes("device"));
    const codes = await printed(env, begin);
    expect(codes).toMatchObject({ user_code: expect.any(String), interval: 5 });
    env.DEVICE_CODE = codes.device_code;
    expect(await printed(env, ask)).toMatchObject({ error: "authorization_pending" });
  });

  test("for a web server work", async () => {
    await using postern = await startPostern();
    const env = environmentOf(postern);
    const [project, role, create, grant, ...others] = curlsOf("examples/web-server/README.md");
    expect(others).toEqual([]);
    env.PROJECT = (await printed(env, project)).projectId;
    await printed(env, role);
    expect(await printed(env, create)).toMatchObject({ clientSecret: expect.any(String), noneCompliant: false });
    env.USER_ID = postern.adminId;
    await printed(env, grant);
    const { body } = await postern.admin.get(`/v1/users/${postern.adminId}/grants`);
    expect(body.userGrants).toMatchObject([{ projectId: env.PROJECT, roleKeys: ["editor"] }]);
  });

  test("for a single page work", async () => {
    await using postern = await startPostern();
    const env = environmentOf(postern);
    const [project, create, ...others] = curlsOf("examples/single-page/README.md");
    expect(others).toEqual([]);
    env.PROJECT = (await printed(env, project)).projectId;
    expect(await printed(env, create)).toMatchObject({ clientId: expect.any(String), noneCompliant: false });
  });
});
