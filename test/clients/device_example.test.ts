import { expect, test } from "vitest";
import { startPostern } from "../harness.ts";
import { textOf } from "../rules/tree.ts";
import { ended } from "./command.ts";
import { found } from "./toolchains.ts";

/** The commands of a page that begin with curl. */
const curlsOf = (page: string): string[] =>
  [...textOf(page).matchAll(/```sh\n(curl .*?)```/gs)].map(([, command = ""]) => command);

test.skipIf(!found("curl"))(
  "the commands for a command line tool, and those of a device, work as they are written",
  async () => {
    await using postern = await startPostern();
    const env: Record<string, string> = { URL: postern.url, TOKEN: postern.admin.token ?? "" };
    const run = async (command = "") => JSON.parse((await ended(["sh", "-c", command], { env })).out);
    const [project, create] = curlsOf("examples/device/README.md");
    env.PROJECT = (await run(project)).projectId;
    env.CLIENT_ID = (await run(create)).clientId;
    const [begin, ask] = curlsOf("docs/sign-in.md").filter((command) => command.includes("device"));
    const codes = await run(begin);
    expect(codes).toMatchObject({ user_code: expect.any(String), interval: 5 });
    env.DEVICE_CODE = codes.device_code;
    expect(await run(ask)).toMatchObject({ error: "authorization_pending" });
  },
);
