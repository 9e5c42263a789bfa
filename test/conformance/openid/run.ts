import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { certificateFor } from "../../wire/certificate.ts";

const advice = `conformance: not run, for the OpenID Foundation's conformance suite is not installed.
It is a Java program (release 5.1.33 is the one that our list of findings was made with), published with how it is built
and run at https://openid.net/certification/. Then set
  OPENID_SUITE_JAR      the path of its jar; \`java\` runs it
  OPENID_SUITE_MONGODB  the MongoDB where it keeps its logs; mongodb://127.0.0.1:27017/test_suite when absent`;

/** Runs the plans of the suite in a process that trusts a certificate of this run; answers the exit code. */
async function conformance(options: readonly string[]): Promise<number> {
  const jar = process.env.OPENID_SUITE_JAR ?? "";
  if (!existsSync(jar)) {
    console.log(advice);
    return 2;
  }
  await using certificate = await certificateFor("localhost");
  const { certFile, keyFile } = certificate;
  const program = new URL("./judge.ts", import.meta.url).pathname;
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: certFile };
  const child = spawn(process.execPath, [program, jar, certFile, keyFile, ...options], { env, stdio: "inherit" });
  const [code] = await once(child, "exit");
  return typeof code === "number" ? code : 1;
}

process.exitCode = await conformance(process.argv.slice(2));
