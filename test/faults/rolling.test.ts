import { describe, test } from "vitest";
import { found } from "./programs.ts";
import { expectSmooth, startThreeNodes } from "./three_nodes.ts";

const balancers = [
  { name: "HAProxy", program: "haproxy" },
  { name: "nginx", program: "nginx" },
] as const;

describe.each(balancers)("three nodes behind $name", ({ name, program }) => {
  test.skipIf(!found(program))(
    "are restarted one after the other under load: no call fails with the documented retry policy, and none without",
    { timeout: 600_000 },
    async () => {
      await using nodes = await startThreeNodes(name);
      const load = nodes.load(100);
      await nodes.restartAll(load, 150);
      await load.stop();
      await expectSmooth(`a rolling restart behind ${name}`, nodes, load);
    },
  );
});
