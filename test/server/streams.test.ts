import { connect } from "node:http2";
import { createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EventService } from "../../gen/postern/v1/event_pb.ts";
import { type Postern, startPostern } from "../harness.ts";
import { frame } from "../wire/frame.ts";
import { readError, readProblem, refusalOf } from "../wire/refusal.ts";
import { transports } from "../wire/transports.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern();
});
afterAll(() => postern[Symbol.asyncDispose]());

let made = 0;
const makeProject = async (in_ = postern) =>
  (await in_.admin.post("/v1/projects", { name: `Project ${++made}` })).body.projectId as string;

/** The position before which a project of this id was created. */
async function positionBefore(projectId: string): Promise<string> {
  const { body } = await postern.admin.get("/v1/events?pageSize=1000");
  const at = body.events.findIndex((one: { objectId: string }) => one.objectId === projectId);
  return body.events[at + 1].position;
}

describe.each(transports)("$name", ({ open }) => {
  const client = (url = postern.url) => createClient(EventService, open(url, postern.admin.token));

  test("events stream, from a position on and as they happen", async () => {
    const first = await makeProject();
    const after = await positionBefore(first);
    const ended = new AbortController();
    const seen: string[] = [];
    let second = "";
    const reading = (async () => {
      for await (const { event } of client().watchEvents({ after }, { signal: ended.signal })) {
        seen.push(event?.objectId ?? "");
        if (event?.objectId === first) second = await makeProject();
        if (event?.objectId === second) ended.abort();
      }
    })();
    expect(readError(await refusalOf(reading)).code).toBe("Canceled");
    expect(seen).toEqual([first, second]);
  });

  test("a stream is refused as over REST", async () => {
    const reading = (async () => {
      for await (const _ of client().watchEvents({ after: "nowhere" }));
    })();
    expect(readError(await refusalOf(reading))).toEqual(
      readProblem((await postern.admin.get("/v1/events:watch?after=nowhere")).body),
    );
  });

  test("a stream that is running when the server stops ends with UNAVAILABLE", async () => {
    const { databaseUrl, masterKeys, adminToken } = postern.config;
    const mine = await startPostern({ databaseUrl, masterKeys, adminToken, shutdownGraceMs: 60_000 });
    const after = await positionBefore(await makeProject());
    const begun = Promise.withResolvers<void>();
    const reading = (async () => {
      for await (const _ of client(mine.url).watchEvents({ after })) begun.resolve();
    })();
    const ended = refusalOf(reading);
    await begun.promise;
    await mine[Symbol.asyncDispose]();
    expect(readError(await ended)).toMatchObject({ code: "Unavailable", reason: "UNAVAILABLE" });
  });
});

test.each([
  ["gRPC", "application/grpc", frame("")],
  ["gRPC-Web", "application/grpc-web+proto", frame("")],
  ["Connect", "application/connect+json", frame("{}")],
])("%s: a stream is open before its first message", async (_, type, body) => {
  const session = connect(postern.url);
  const authorization = `Bearer ${postern.admin.token}`;
  const path = "/postern.v1.EventService/WatchEvents";
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": type, authorization });
  stream.end(body);
  const headers = await new Promise<Record<string, unknown>>((resolve) => stream.once("response", resolve));
  expect([headers[":status"], String(headers["content-type"]).startsWith(type)]).toEqual([200, true]);
  const project = await makeProject();
  const first = await new Promise<Buffer>((resolve) => stream.once("data", resolve));
  expect(first.toString("latin1")).toContain(project);
  session.destroy();
});

describe("REST", () => {
  const listen = (query: string, headers: Record<string, string>) =>
    fetch(`${postern.url}/v1/events:watch${query}`, {
      headers: { authorization: `Bearer ${postern.admin.token}`, ...headers },
    });

  /** The first text of a stream that fits. */
  async function heard({ body }: Response, until: RegExp): Promise<string> {
    let text = "";
    for await (const part of body ?? []) {
      text += Buffer.from(part).toString();
      if (until.test(text)) break;
    }
    return text;
  }

  test("events come as server-sent events to who accepts them, and go on after the last one seen", async () => {
    const [first, second] = [await makeProject(), await makeProject()];
    const accept = { accept: "text/event-stream" };
    const answer = await listen(`?after=${await positionBefore(first)}`, accept);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    const text = await heard(answer, /\n\n$/);
    const [, id = ""] = /^id: (\S+)\ndata: \{/.exec(text) ?? [];
    expect(text).toContain(first);
    expect(id).toBe((await positionBefore(second)).split("~", 1)[0]);
    const later = await heard(await listen("?after=nowhere", { ...accept, "last-event-id": id }), /\n\n$/);
    expect(later).toContain(second);
    expect(later).not.toContain(first);
  });

  test("server-sent events are open before the first of them", async () => {
    const answer = await listen("", { accept: "text/event-stream" });
    const project = await makeProject();
    expect(await heard(answer, /\n\n$/)).toContain(project);
  });

  test("lines of JSON come to everybody else", async () => {
    const project = await makeProject();
    const answer = await listen(`?after=${await positionBefore(project)}`, {});
    expect(answer.headers.get("content-type")).toBe("application/x-ndjson");
    expect(JSON.parse(await heard(answer, /\n$/)).event.objectId).toBe(project);
  });

  test("a position that never was is an ordinary problem for both", async () => {
    for (const headers of [{ accept: "text/event-stream" }, {}]) {
      const answer = await listen("?after=nowhere", headers);
      expect([answer.status, answer.headers.get("content-type")]).toEqual([400, "application/json"]);
    }
  });
});
