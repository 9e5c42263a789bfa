import { readConfig } from "../../src/config.ts";
import { startServer } from "../../src/server.ts";
import { tell } from "./tell.ts";

const server = await startServer(readConfig());
await tell(server.url, server);
