import { openWorkshop } from "../workshop.ts";
import { signsIn } from "./relying_party.ts";

signsIn("Spring Security", {
  toolchain: "java",
  login: "/oauth2/authorization/postern",
  callback: "/login/oauth2/code/postern",
  async build() {
    const { folder, must } = await openWorkshop("oidc/spring");
    await must("mvn", "--batch-mode", "--quiet", "package");
    return { command: ["java", "-jar", "target/program.jar"], cwd: folder };
  },
});
