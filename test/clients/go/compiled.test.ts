import { beforeAll } from "vitest";
import { goOutcomes } from "../go_outcomes.ts";
import { runsProgram } from "../program.ts";
import { found } from "../toolchains.ts";
import { openWorkshop, type Workshop } from "../workshop.ts";

let workshop: Workshop;
beforeAll(async () => {
  if (!found("go")) return;
  workshop = await openWorkshop("go");
  await workshop.generate();
}, 600_000);

runsProgram("grpc-go", { toolchain: "go", run: (environment) => goOutcomes(workshop, "./grpc", environment) });

for (const protocol of ["Connect", "gRPC", "gRPC-Web"])
  runsProgram(`connect-go, ${protocol}`, {
    toolchain: "go",
    without: ["asks for health", "finds services by reflection"],
    run: (environment) => goOutcomes(workshop, "./connect", { ...environment, POSTERN_PROTOCOL: protocol }),
  });
