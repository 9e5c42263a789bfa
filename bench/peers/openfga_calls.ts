import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { Calls } from "../../packages/gateway/bench/load/generator.ts";
import type { Request } from "../../test/fixture/recipes.ts";
import { role } from "../../test/fixture/seed.ts";
import { grpcCalls, restCalls } from "../recipe_calls.ts";
import { batch, batchOf, checkOf, countOf, grantOf, held, holderOf, type Question } from "./question.ts";
import type { DoorKind } from "./system.ts";

/** The calls of a question to OpenFGA: its store, and the model of who may be what there. */
export type OpenfgaCalls = {
  readonly question: Question;
  readonly kind: DoorKind;
  readonly token: string;
  readonly store: string;
  readonly model: string;
};

/** Makes the calls; the thread that sends them imports this. */
export function callsOf(options: unknown, url: string): Calls {
  const { question, kind, token, ...ids } = options as OpenfgaCalls;
  const requests = requestsOf(question, ids);
  if (kind === "json") {
    const isRight = (response: string, n: number) =>
      response.startsWith("HTTP/1.1 200") && isRightJson(question, response, n);
    return restCalls(requests, { url, token, isRight });
  }
  const isRight = (body: Buffer, n: number) => isWhole(body) && isRightMessage(question, body.subarray(5), n);
  return grpcCalls(requests, { url, token, isRight });
}

/** Whether a body is one message of gRPC, not compressed; an empty message is one too. */
const isWhole = (body: Buffer) => body.length >= 5 && body[0] === 0 && body.length === 5 + body.readUInt32BE(1);

type Ids = Pick<OpenfgaCalls, "store" | "model">;
type Pair = { readonly userId: string; readonly projectId: string };

const tupleOf = ({ userId, projectId }: Pair) => ({
  ...{ user: `user:${userId}`, relation: role, object: `project:${projectId}` },
});

// The numbers of the fields: https://github.com/openfga/api, openfga/v1/openfga_service.proto.
function requestsOf(question: Question, { store, model }: Ids): (n: number) => Request {
  switch (question) {
    case "grant":
      return (n) => {
        const tuple = tupleOf(grantOf(n));
        const body = { writes: { tuple_keys: [tuple] }, authorization_model_id: model };
        const message = () => bytes(text(1, store), sub(2, sub(1, tupleBytes(tuple))), text(4, model));
        return { ...post(store, "write", "Write", body), message };
      };
    case "list":
      return (n) => {
        const [user, object] = [`user:${holderOf(n)}`, "project:"];
        const body = { tuple_key: { user, object }, page_size: 50 };
        // The size of the page is an Int32Value.
        const size = (to: BinaryWriter) => sub(3, (value) => value.tag(1, WireType.Varint).int32(50))(to);
        const message = () => bytes(text(1, store), sub(2, both(text(1, user), text(3, object))), size);
        return { ...post(store, "read", "Read", body), message };
      };
    case "check":
      return (n) => {
        const tuple = tupleOf(checkOf(n));
        const body = { tuple_key: tuple, authorization_model_id: model };
        const message = () => bytes(text(1, store), sub(2, tupleBytes(tuple)), text(4, model));
        return { ...post(store, "check", "Check", body), message };
      };
    case "batch":
      return (n) => batchRequest(n, { store, model });
    default:
      throw new Error(`OpenFGA has no ${question}`);
  }
}

function batchRequest(n: number, { store, model }: Ids): Request {
  const tuples = batchOf(n).map(tupleOf);
  const checks = tuples.map((tuple_key, at) => ({ tuple_key, correlation_id: String(at) }));
  const items = tuples.map((tuple, at) => sub(2, both(sub(1, tupleBytes(tuple)), text(4, String(at)))));
  const message = () => bytes(text(1, store), ...items, text(3, model));
  return { ...post(store, "batch-check", "BatchCheck", { checks, authorization_model_id: model }), message };
}

const post = (store: string, verb: string, method: string, body: object) => ({
  ...{ method: "POST", path: `/stores/${store}/${verb}`, rpc: `/openfga.v1.OpenFGAService/${method}`, body },
});

type Part = (to: BinaryWriter) => unknown;

const text =
  (field: number, value: string): Part =>
  (to) =>
    to.tag(field, WireType.LengthDelimited).string(value);

const sub =
  (field: number, part: Part): Part =>
  (to) => {
    to.tag(field, WireType.LengthDelimited).fork();
    part(to);
    to.join();
  };

const both =
  (...parts: readonly Part[]): Part =>
  (to) => {
    for (const part of parts) part(to);
  };

const tupleBytes = ({ user, relation, object }: ReturnType<typeof tupleOf>): Part =>
  both(text(1, user), text(2, relation), text(3, object));

function bytes(...parts: readonly Part[]): Uint8Array {
  const to = new BinaryWriter();
  for (const part of parts) part(to);
  return to.finish();
}

function isRightJson(question: Question, response: string, n: number): boolean {
  switch (question) {
    case "list":
      return countOf(response, `"${role}"`) === held && countOf(response, holderOf(n)) === held;
    case "check":
      return response.includes(`"allowed":${checkOf(n).isHeld}`);
    case "batch": {
      const found = response.matchAll(/"(\d+)":\{"allowed":(true|false)/g);
      return areDecisions(
        Array.from(found, ([, at, allowed]) => [Number(at), allowed === "true"] as const),
        n,
      );
    }
    default:
      return response.endsWith("{}");
  }
}

function isRightMessage(question: Question, body: Buffer, n: number): boolean {
  switch (question) {
    case "list":
      return countOf(body, role) === held && countOf(body, holderOf(n)) === held;
    case "check":
      return checkOf(n).isHeld ? body[0] === 8 && body[1] === 1 : body.length === 0;
    case "batch":
      return areDecisions(Array.from(resultsOf(body)), n);
    default:
      return body.length === 0;
  }
}

/** The results by the number of their question: entries of a map, in any order, each shorter than 128 bytes. */
function* resultsOf(body: Buffer): Generator<readonly [at: number, isAllowed: boolean]> {
  for (let at = 0; at < body.length; at += 2 + (body[at + 1] ?? 0)) {
    const length = body[at + 3] ?? 0;
    const number = body.toString("latin1", at + 4, at + 4 + length);
    yield [Number(number), body[at + 4 + length + 3] === 1];
  }
}

function areDecisions(found: readonly (readonly [at: number, isAllowed: boolean])[], n: number): boolean {
  const decisions = batchOf(n);
  const numbers = new Set(found.map(([at]) => at));
  return numbers.size === batch && found.every(([at, isAllowed]) => decisions[at]?.isHeld === isAllowed);
}
