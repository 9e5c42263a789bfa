import type { DescService, Message } from "@bufbuild/protobuf";
import { createContextValues } from "@connectrpc/connect";
import pino, { type Logger } from "pino";
import { bodyBudget } from "../../packages/gateway/src/http/body_budget.ts";
import { type Door, jsonDoor } from "../../packages/gateway/src/rpc/door.ts";
import {
  type Call,
  type Guard,
  type Implementation,
  operationTable,
} from "../../packages/gateway/src/rpc/operations.ts";
import { HeaderFields } from "../../packages/gateway/src/rpc/protocols/protocol.ts";
import type { Asked } from "../../packages/gateway/src/rpc/request.ts";
import type { Parts } from "../../packages/gateway/src/rpc/rooms.ts";
import { keys, newId } from "../../src/deps.ts";
import { type Report, report } from "../../src/guards/report.ts";
import { messageRules, validate } from "../../src/guards/validate.ts";
import { chooseLanguage } from "../../src/messages/catalogue.ts";
import { type SampleRpc, sampleService } from "./sample.ts";

/** What answers an rpc of the sample in a test. */
export type SampleHandler = Implementation["handlers"][string];

/** What a sample door is made of, where it differs from the plainest. */
export type SampleOptions = {
  readonly handler?: SampleHandler;
  readonly ready?: Parts["ready"];
  readonly logger?: Logger;
};

/** The parts of a transport whose handlers answer what they were asked, behind real validation and reports. */
export function sampleParts(rpcs: readonly SampleRpc[], options: SampleOptions = {}): Parts {
  const { handler = echo, ready = () => true, logger = pino({ level: "silent" }) } = options;
  const service = sampleService(rpcs);
  const reports = report({ logger, languageOf: chooseLanguage });
  const rules = messageRules();
  const operations = operationTable([sampleImplementation(service, handler)], guardOf(reports, rules));
  return { operations, rules, refused: reports.refused, newCall, ready, limits };
}

const budget = bodyBudget({ bodiesMaxBytes: 67_108_864, unknownStreamsMax: 100 });
const limits = { messageMaxBytes: 4_194_304, bodyTimeoutMs: 5000, deadlineMaxMs: 60_000 };

/** Every rpc of a service, answered by one handler. */
export function sampleImplementation(service: DescService, handler: SampleHandler): Implementation {
  return { service, handlers: Object.fromEntries(service.methods.map(({ localName }) => [localName, handler])) };
}

const echo: SampleHandler = async (request) => request;

function guardOf(reports: Report, rules: ReturnType<typeof messageRules>): Guard {
  return {
    unary(method, handler) {
      const check = validate(method, rules);
      return reports.unary(method, async (request, call) => {
        check(request);
        return handler(request, call);
      });
    },
    stream(method, handler) {
      const check = validate(method, rules);
      return reports.stream(method, async function* (request: Message, call: Call) {
        check(request);
        yield* handler(request, call);
      });
    },
  };
}

function newCall() {
  const requestId = newId();
  return { requestId, values: createContextValues().set(keys.requestId, requestId) };
}

/** A door to the sample service, to be asked without a socket. */
export const sampleDoor = (rpcs: readonly SampleRpc[], options?: SampleOptions): Door =>
  jsonDoor(sampleParts(rpcs, options));

/** What came back, its body read as JSON. */
export type Read = { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly json: Json };

type Json = Record<string, unknown> & { readonly details?: readonly Detail[] };
type Detail = Record<string, unknown> & {
  readonly fieldViolations?: readonly { field: string; reason: string; description: string }[];
};

/** Asks a door `POST /path`, with a body that is text, or is written as JSON. */
export async function ask(
  door: Door,
  line: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Read> {
  const [method = "", target = ""] = line.split(" ");
  const bytes = body instanceof Uint8Array ? body : Buffer.from(textOf(body));
  const sent = new Headers({ ...(bytes.length > 0 && { "content-type": "application/json" }), ...headers });
  const never = new AbortController().signal;
  const asked: Asked = {
    ...{
      method,
      target,
      authority: "localhost",
      headers: new HeaderFields(Object.fromEntries(sent)),
      signal: never,
      stopping: never,
    },
    ...{ version: "1.1", expire: () => {}, messageMaxBytes: 1000, account: budget.from("").account() },
    body: async () => bytes,
    chunks: async function* () {
      yield bytes;
    },
  };
  const { status, headers: answered, body: answer } = await door(asked);
  return { status, headers: answered, json: JSON.parse(String(answer)) };
}

const textOf = (body: unknown) => (body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body));

/** The wrong fields of a refusal, as `path REASON`. */
export function wrongFields({ json }: Read): string[] {
  const violations = json.details?.flatMap(({ fieldViolations }) => fieldViolations ?? []) ?? [];
  return violations.map(({ field, reason }) => `${field} ${reason}`);
}

/** The reason of a refusal. */
export const reasonOf = ({ json }: Read) => json.details?.[0]?.reason;

/** The fields of an echoed message that are not at their zero value. */
export function filled({ json }: Read): Record<string, unknown> {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => !isZero(value)));
}

const isZero = (value: unknown) => [false, 0, "", "0", "KIND_NONE", "[]", "{}"].includes(zeroText(value));
const zeroText = (value: unknown) =>
  typeof value === "object" ? JSON.stringify(value) : (value as string | number | boolean);
