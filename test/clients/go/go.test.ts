import { beforeAll } from "vitest";
import { runsProgram, type TestOutcome } from "../program.ts";
import type { Environment } from "../stage.ts";
import { found } from "../toolchains.ts";
import { openWorkshop, type Workshop } from "../workshop.ts";

let workshop: Workshop;
beforeAll(async () => {
  if (!found("go")) return;
  workshop = await openWorkshop("go");
  await workshop.generate();
}, 600_000);

runsProgram("grpc-go", { toolchain: "go", run: (environment) => outcomesOf("./grpc", environment) });

for (const protocol of ["Connect", "gRPC", "gRPC-Web"])
  runsProgram(`connect-go, ${protocol}`, {
    toolchain: "go",
    without: ["asks for health", "finds services by reflection"],
    run: (environment) => outcomesOf("./connect", { ...environment, POSTERN_PROTOCOL: protocol }),
  });

type Event = { readonly Action: string; readonly Test?: string; readonly Output?: string };

/** Runs the tests of a package. */
async function outcomesOf(folder: string, environment: Environment): Promise<TestOutcome[]> {
  const { out, err } = await workshop.run(environment, "go", "test", "-count=1", "-timeout=2m", "-json", folder);
  const events: Event[] = out
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const ends = events.filter(({ Test, Action }) => Test && ["pass", "fail", "skip"].includes(Action));
  if (ends.length === 0) throw new Error(out + err);
  return ends.map(({ Test: name = "", Action }) => {
    const lines = events.filter(({ Test }) => Test === name).map(({ Output = "" }) => Output);
    return Action === "pass" ? { name } : { name, failure: lines.join("") };
  });
}
