import { openWorkshop } from "../workshop.ts";
import { signsIn } from "./relying_party.ts";

signsIn("go-oidc, with golang.org/x/oauth2", {
  toolchain: "go",
  callback: "/callback",
  machine: 2,
  async build() {
    const { folder, must } = await openWorkshop("oidc/go");
    await must("go", "build", "-buildvcs=false", "-o", "program", ".");
    return { command: ["./program"], cwd: folder };
  },
});
