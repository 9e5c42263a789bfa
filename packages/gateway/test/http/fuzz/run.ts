import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { hasGo, startGo } from "./go_server.ts";
import { startOwn } from "./http1_outcome.ts";
import { findings, type Ports } from "./http1_runner.ts";

// npm run fuzz:http1: heads and bodies of HTTP/1.1 to ours and to Go; `-- --seed <first> --count <how many>` runs others.

const { values } = parseArgs({ options: { seed: { type: "string" }, count: { type: "string" } } });
const first = Number(values.seed ?? randomInt(2 ** 31));
const count = Number(values.count ?? 100_000);
const block = 10_000;

process.exitCode = hasGo ? await fuzz() : skip();

function skip(): number {
  console.log("fuzz: skipped, for Go is not here");
  return 0;
}

async function fuzz(): Promise<number> {
  console.log(`fuzz: ${count} sequences of HTTP/1.1 from seed ${first} on`);
  let wrong = 0;
  await using go = await startGo();
  await using own = await startOwn((error) => {
    wrong += 1;
    console.log("fuzz: fault", error);
  });
  const ports: Ports = { own: Number(new URL(own.url).port), go: go.port };
  const begun = performance.now();
  for (let done = 0; done < count; done += block) {
    const found = await findings(ports, first + done, Math.min(block, count - done));
    for (const [seed, finding] of found) console.log(`fuzz: seed ${seed} ${JSON.stringify(finding, null, 2)}`);
    wrong += found.size;
  }
  const rate = Math.round((count / (performance.now() - begun)) * 1000);
  console.log(`fuzz: ${count} sequences, ${rate}/s, ${wrong} findings`);
  return wrong > 0 ? 1 : 0;
}
