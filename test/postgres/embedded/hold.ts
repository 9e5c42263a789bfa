// Run as a process of its own: starts the embedded database of the folder given and holds it until it gets the signal to stop.
import { startEmbedded } from "../../../src/postgres/embedded/embedded.ts";

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

try {
  await using embedded = await startEmbedded({ dataDir: process.argv[2] ?? "", log: quiet });
  process.stdout.write(`${JSON.stringify({ url: embedded.url, note: embedded.note })}\n`);
  await new Promise((resolve) => process.stdin.once("data", resolve));
  process.stdin.destroy();
} catch (error) {
  process.stdout.write(`${JSON.stringify({ error: error instanceof Error ? error.message : String(error) })}\n`);
}
