import { type DescMessage, type DescMethod, fromJson, type JsonObject, type Message } from "@bufbuild/protobuf";
import { createContextValues } from "@connectrpc/connect";
import postgres from "postgres";
import { AccountService } from "../gen/postern/v1/account_pb.ts";
import { ApplicationService } from "../gen/postern/v1/application_pb.ts";
import { EventService } from "../gen/postern/v1/event_pb.ts";
import { MemberService } from "../gen/postern/v1/member_pb.ts";
import { OrganizationService } from "../gen/postern/v1/organization_pb.ts";
import { PolicyService } from "../gen/postern/v1/policy_pb.ts";
import { ProjectService } from "../gen/postern/v1/project_pb.ts";
import { SessionService } from "../gen/postern/v1/session_pb.ts";
import { UserGrantService } from "../gen/postern/v1/user_grant_pb.ts";
import { UserService } from "../gen/postern/v1/user_pb.ts";
import { implementation } from "../packages/gateway/src/rpc/operations.ts";
import { type Call, type Deps, keys, newId, type Reach } from "../src/deps.ts";
import { openLog } from "../src/events/log.ts";
import { folds } from "../src/house.ts";
import { clientOptions, driverUrl } from "../src/postgres/connect.ts";
import { secretsOf } from "../src/security/secrets.ts";
import { accountService } from "../src/services/account.ts";
import { applicationService } from "../src/services/application.ts";
import { eventService } from "../src/services/event.ts";
import { memberService } from "../src/services/member.ts";
import { organizationService } from "../src/services/organization.ts";
import { policyService } from "../src/services/policy.ts";
import { projectService } from "../src/services/project.ts";
import { sessionService } from "../src/services/session.ts";
import { userService } from "../src/services/user.ts";
import { userGrantService } from "../src/services/user_grant.ts";
import type { Postern } from "./harness.ts";

/** A call of a handler: the request as JSON, who calls, and how far the permission reaches. */
export type HandlerCall = {
  readonly request: Readonly<Record<string, unknown>>;
  readonly userId?: string;
  readonly organizationId?: string;
  readonly reach?: Reach;
  /** The stream is left once it has begun. */
  readonly isLeft?: true;
};

/** The handlers of every service without their guards, on a connection that hears every statement. */
export type Handlers = AsyncDisposable & {
  readonly deps: Deps;
  readonly methods: readonly DescMethod[];
  readonly run: (method: DescMethod, call: HandlerCall) => Promise<unknown>;
  /** The statements since the last time, each once. */
  readonly heard: () => string[];
};

const quiet = { debug() {}, info() {}, warn: console.warn, error: console.error };
const cheap = { concurrency: 1, queue: 8, memoryKib: 64, iterations: 1, parallelism: 1 };
const noTail = { listen: () => () => {}, poke() {}, behindMs: () => 0, async [Symbol.asyncDispose]() {} };

/** Opens the handlers on the database of a running service. */
export function openHandlers(postern: Postern): Handlers {
  const { databaseUrl, config } = postern;
  let texts: string[] = [];
  const debug = (_: number, text: string) => void texts.push(text);
  const sql = postgres(driverUrl(databaseUrl), { ...clientOptions(databaseUrl, quiet), max: 1, debug });
  const originOf = ({ values }: Call) => ({
    actor: values.get(keys.caller)?.userId,
    requestId: newId(),
    signal: undefined,
    idempotency: undefined,
  });
  const log = openLog<Call>({ sql, folds, originOf });
  const deps: Deps = {
    log,
    sql,
    clock: () => new Date(),
    ids: newId,
    secrets: secretsOf(config.masterKeys ?? [], cheap),
  };
  const served = [
    implementation(AccountService, accountService(deps)),
    implementation(ApplicationService, applicationService(deps)),
    implementation(EventService, eventService(deps, noTail)),
    implementation(MemberService, memberService(deps)),
    implementation(OrganizationService, organizationService(deps)),
    implementation(PolicyService, policyService(deps)),
    implementation(ProjectService, projectService(deps)),
    implementation(SessionService, sessionService(deps, config)),
    implementation(UserService, userService(deps, config)),
    implementation(UserGrantService, userGrantService(deps)),
  ];
  return {
    deps,
    methods: served.flatMap(({ service }) => service.methods),
    async run(method, call) {
      const { handlers } = served.find(({ service }) => service === method.parent) ?? {};
      const handle = handlers?.[method.localName];
      if (!handle) throw new Error(`nothing handles ${method.name}`);
      const answer = handle(messageOf(method.input, call.request), callOf(postern, call));
      return call.isLeft && "begins" in answer ? answer.begins : ended(answer);
    },
    heard() {
      const since = [...new Set(texts)].filter((text) => !text.includes("pg_catalog"));
      texts = [];
      return since;
    },
    [Symbol.asyncDispose]: () => sql.end({ timeout: 1 }),
  };
}

const messageOf = (type: DescMessage, request: HandlerCall["request"]): Message =>
  fromJson(type, request as JsonObject);

/** Waits for the answer, or for the first one of a stream. */
async function ended(answer: object): Promise<unknown> {
  if (!(Symbol.asyncIterator in answer)) return answer;
  for await (const first of answer as AsyncIterable<object>) return first;
  return undefined;
}

function callOf({ adminId, organizationId: own }: Postern, call: HandlerCall): Call {
  const { userId = adminId, organizationId: organization = own, reach = { whole: true } } = call;
  const values = createContextValues()
    .set(keys.caller, { userId, organization, memberships: [] })
    .set(keys.organization, organization)
    .set(keys.reach, reach);
  return { values, signal: new AbortController().signal, requestHeader: new Headers() };
}
