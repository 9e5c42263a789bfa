import { openWorkshop } from "../workshop.ts";
import { signsIn } from "./relying_party.ts";

signsIn("Spring Security", {
  toolchain: "java",
  login: "/oauth2/authorization/postern",
  callback: "/login/oauth2/code/postern",
  signOut: { path: "/logout", after: "/bye", backChannel: "/logout/connect/back-channel/postern" },
  async build() {
    const { folder, must } = await openWorkshop("oidc/spring");
    await must("mvn", "--batch-mode", "--quiet", "package");
    // It runs for seconds: the best code for it would come too late.
    return { command: ["java", "-XX:TieredStopAtLevel=1", "-jar", "target/program.jar"], cwd: folder };
  },
});
