import { openWorkshop } from "../workshop.ts";
import { runsSamples } from "./language.ts";

runsSamples([
  {
    language: "grpcurl",
    toolchain: "go",
    file: "sample.sh",
    command: (path) => ["sh", path],
    async build() {
      const { kept, must } = await openWorkshop("samples");
      await must("env", `GOBIN=${kept}`, "go", "install", "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4");
      return kept;
    },
  },
  { language: "Go", toolchain: "go", file: "sample.go", command: (path) => ["go", "run", path] },
]);
