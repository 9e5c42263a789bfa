import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { EvaluateManyRequestSchema, EvaluateRequestSchema } from "../../gen/postern/v1/authorization_pb.ts";
import { AddUserGrantRequestSchema, ListUserGrantsRequestSchema } from "../../gen/postern/v1/user_grant_pb.ts";
import { CreateHumanUserRequestSchema } from "../../gen/postern/v1/user_pb.ts";
import type { Calls } from "../../packages/gateway/bench/load/generator.ts";
import { type Request, requestOf } from "../../test/fixture/recipes.ts";
import { role } from "../../test/fixture/seed.ts";
import { grpcCalls, restCalls } from "../recipe_calls.ts";
import { batchOf, checkOf, countOf, grantOf, held, holderOf, type Question } from "./question.ts";
import type { DoorKind } from "./system.ts";

/** The calls of a question to Postern. */
export type PosternCalls = {
  readonly question: Question;
  readonly kind: DoorKind;
  readonly token: string;
  /** The id of the caller. */
  readonly userId: string;
};

/** Makes the calls; the thread that sends them imports this. */
export function callsOf(options: unknown, url: string): Calls {
  const { question, kind, token, userId } = options as PosternCalls;
  const requests = requestsOf[question];
  if (kind === "json") {
    const isRight = (response: string, n: number) =>
      response.startsWith("HTTP/1.1 200") && isRightJson(question, response, { n, userId });
    return restCalls(requests, { url, token, isRight });
  }
  const isRight = (body: Buffer, n: number) => isWhole(body) && isRightMessage(question, body, { n, userId });
  return grpcCalls(requests, { url, token, isRight });
}

/** Whether a body is one message of gRPC, not compressed. */
const isWhole = (body: Buffer) => body.length > 5 && body[0] === 0 && body.length === 5 + body.readUInt32BE(1);

const requestsOf: Readonly<Record<Question, (n: number) => Request>> = {
  grant: (n) => {
    const { userId, projectId } = grantOf(n);
    const path = `/v1/users/${userId}/grants`;
    const fields = { userId, projectId, roleKeys: [role] };
    return {
      ...post(path, "UserGrantService/AddUserGrant", { projectId, roleKeys: [role] }),
      message: () => bytes(AddUserGrantRequestSchema, fields),
    };
  },
  list: (n) => {
    const userId = holderOf(n);
    return {
      ...{ method: "GET", path: `/v1/users/${userId}/grants?pageSize=50`, body: undefined },
      rpc: "/postern.v1.UserGrantService/ListUserGrants",
      message: () => bytes(ListUserGrantsRequestSchema, { userId, pageSize: 50 }),
    };
  },
  check: (n) => {
    const question = parts(n);
    return {
      ...post("/access/v1/evaluation", "AuthorizationService/Evaluate", question),
      message: () => bytes(EvaluateRequestSchema, question),
    };
  },
  batch: (n) => {
    const evaluations = batchOf(n).map(partsOf);
    const action = { name: role };
    return {
      ...post("/access/v1/evaluations", "AuthorizationService/EvaluateMany", { action, evaluations }),
      message: () => bytes(EvaluateManyRequestSchema, { action, evaluations }),
    };
  },
  me: (n) => requestOf({ kind: "get_me" }, n),
  user: (n) => person(n),
  password: (n) => person(n, "Blue-Kettle-42"),
  application: (n) => requestOf({ kind: "create_application" }, n),
};

const partsOf = ({ userId, projectId }: ReturnType<typeof checkOf>) => ({
  subject: { type: "user", id: userId },
  resource: { type: "project", id: projectId },
});

const parts = (n: number) => ({ ...partsOf(checkOf(n)), action: { name: role } });

function person(n: number, password?: string): Request {
  const username = password ? `secret${n}` : `person${n}`;
  const names = { username, givenName: "Ada", familyName: "Byron", email: `${username}@example.com` };
  const body = { ...names, ...(password && { password }) };
  return {
    ...post("/v1/users/human", "UserService/CreateHumanUser", body),
    message: () => bytes(CreateHumanUserRequestSchema, body),
  };
}

const post = (path: string, rpc: string, body: object) => ({ method: "POST", path, rpc: `/postern.v1.${rpc}`, body });

const bytes = <T extends DescMessage>(schema: T, init: MessageInitShape<T>) => toBinary(schema, create(schema, init));

type Expected = { readonly n: number; readonly userId: string };

function isRightJson(question: Question, response: string, { n, userId }: Expected): boolean {
  switch (question) {
    case "list":
      return countOf(response, `"${role}"`) === held && countOf(response, holderOf(n)) === held;
    case "check":
      return response.includes(`"decision":${checkOf(n).isHeld}`);
    case "batch":
      return (
        Array.from(response.matchAll(/"decision":(true|false)/g), ([, one]) => one).join() === decisionsOf(n).join()
      );
    case "me":
      return response.includes(userId);
    case "grant":
      return response.includes('"userGrantId":"');
    case "user":
    case "password":
      return response.includes('"userId":"');
    case "application":
      return response.includes('"clientId":"');
  }
}

const decisionsOf = (n: number) => batchOf(n).map(({ isHeld }) => isHeld);

// The fields of a message begin at its fifth byte, after the envelope's flags and length.
const first = 5;

function isRightMessage(question: Question, body: Buffer, { n, userId }: Expected): boolean {
  switch (question) {
    case "list":
      return countOf(body, role) === held && countOf(body, holderOf(n)) === held;
    case "check":
      return isDecision(body, first, checkOf(n).isHeld);
    case "batch":
      return areDecisions(body, decisionsOf(n));
    case "me":
      return body.includes(userId);
    case "grant":
    case "user":
    case "password":
    case "application":
      // The id of the new object is field 1.
      return body[first] === 10 && (body[first + 1] ?? 0) > 0;
  }
}

/** Whether the field 1 of the message that begins there is this decision. */
const isDecision = (body: Buffer, at: number, decision: boolean) =>
  body[at] === 8 && body[at + 1] === (decision ? 1 : 0);

/** Whether the fields 3 are these decisions, in their order; each is shorter than 128 bytes. */
function areDecisions(body: Buffer, decisions: readonly boolean[]): boolean {
  let at = first;
  for (const decision of decisions) {
    if (body[at] !== 26 || !isDecision(body, at + 2, decision)) return false;
    at += 2 + (body[at + 1] ?? 0);
  }
  return at === body.length;
}
