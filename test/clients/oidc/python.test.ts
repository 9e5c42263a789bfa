import { openVirtualEnvironment } from "../virtual_environment.ts";
import { openWorkshop } from "../workshop.ts";
import { signsIn } from "./relying_party.ts";

signsIn("Authlib, with Flask", {
  toolchain: "python",
  callback: "/callback",
  machine: 3,
  async build() {
    const workshop = await openWorkshop("oidc/python");
    return { command: [await openVirtualEnvironment(workshop), "app.py"], cwd: workshop.folder };
  },
});
