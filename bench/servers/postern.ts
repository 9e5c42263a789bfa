import { tell } from "../../packages/gateway/bench/servers/tell.ts";
import { readConfig } from "../../src/config/config.ts";
import { startServer } from "../../src/server/server.ts";

const server = await startServer(readConfig());
await tell(server.url, server);
