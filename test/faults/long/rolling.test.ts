import { describe, test } from "vitest";
import { found } from "../programs.ts";
import { expectSmooth, startThreeNodes } from "../three_nodes.ts";

const rounds = 3;
const callsBetween = 5_000;

const balancers = [
  { name: "HAProxy", program: "haproxy" },
  { name: "nginx", program: "nginx" },
] as const;

describe.each(balancers)("three nodes behind $name", ({ name, program }) => {
  test.skipIf(!found(program))(
    `are restarted ${rounds} times: no call fails with the documented retry policy, fewer than one in 10,000 without`,
    { timeout: 1_800_000 },
    async () => {
      await using nodes = await startThreeNodes(name);
      const load = nodes.load();
      for (let round = 0; round < rounds; round++) await nodes.restartAll(load, callsBetween);
      await load.stop();
      await expectSmooth(`${rounds} rolling restarts behind ${name}`, nodes, load);
    },
  );
});
