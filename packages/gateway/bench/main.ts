import { parseArgs } from "node:util";
import { doors } from "./doors.ts";
import { isMissed, tableOf } from "./report.ts";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "5" }, seconds: { type: "string", default: "3" } },
});
const pace = { rounds: Number(values.rounds), seconds: Number(values.seconds), warmSeconds: 1 };
const rows = await doors(pace, new URL("./servers/gateway.ts", import.meta.url));
process.stdout.write(`${tableOf(rows)}\n`);
if (rows.some(isMissed)) process.exitCode = 1;
