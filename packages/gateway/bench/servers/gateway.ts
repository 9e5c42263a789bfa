import { gateway } from "../../src/gateway.ts";
import { tell } from "./tell.ts";
import { tinyRoutes } from "./tiny_routes.ts";

const server = await gateway({ routes: tinyRoutes }).listen({ port: 0 });
await tell(server.url, server);
