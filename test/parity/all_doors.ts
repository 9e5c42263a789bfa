import pino from "pino";
import { startServer } from "../../src/server/server.ts";
import { startPostern } from "../harness.ts";
import { fieldsOf } from "../wire/http.ts";
import { startAdapter } from "./adapter.ts";
import { type Door, openDoors } from "./doors.ts";
import { limits, type Scene, type Stage, stageOf } from "./stage.ts";

/** Every door: those of the gateway, and what combines them with the other version of HTTP, with HTTP/2 by Node, and with the adapter. */
export type AllDoors = AsyncDisposable & {
  readonly stage: Stage;
  readonly first: readonly Door[];
  readonly further: readonly Door[];
  readonly byNode: readonly Door[];
  readonly adapter: readonly Door[];
  /** The doors beside the first at which a scene can be played, as far as it is a well-formed message. */
  readonly others: (scene: Scene) => readonly Door[];
  /** The names that the answers of the adapter give their requests. */
  readonly requestIds: readonly (string | undefined)[];
};

/** Sets a stage, and opens every door to it. */
export async function openAllDoors(): Promise<AllDoors> {
  await using opened = new AsyncDisposableStack();
  const postern = opened.use(await startPostern(limits));
  const stage = await stageOf(postern);
  const node = opened.use(await startServer({ ...postern.config, http2: "node" }));
  const ports = opened.use(await startAdapter(postern.config, pino({ level: "silent" })));
  const { first, all } = opened.use(openDoors(postern.url));
  const further = all.filter((door) => !first.includes(door));
  const byNode = named("by Node's HTTP/2", opened.use(openDoors(node.url)).all.filter(usesHttp2));
  const requestIds: (string | undefined)[] = [];
  const ofAdapter = opened.use(openDoors(ports, (response) => requestIds.push(fieldsOf(response)["x-request-id"])));
  const adapter = named("of Connect's adapter", ofAdapter.first);
  const wellFormed = ({ malformed }: Scene) =>
    adapter.filter((door) => !door.gatewayOnly && malformed?.[door.format] === undefined);
  const stack = opened.move();
  return {
    ...{ stage, first, further, byNode, adapter, requestIds },
    others: (scene) => [...further, ...byNode, ...wellFormed(scene)],
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const named = (suffix: string, doors: readonly Door[]) =>
  doors.map((door) => ({ ...door, name: `${door.name} ${suffix}` }));

/** Whether a door is one of the ways in which protocols use HTTP/2; formats are nothing to it, and each is met once. */
const usesHttp2 = ({ name, format }: Door) =>
  name.endsWith("HTTP/2") && (format === "binary" || /^(REST|plain)/.test(name));
