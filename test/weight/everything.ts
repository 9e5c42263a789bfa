import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { connect, foreignApplication, refreshing } from "../fixture/connection.ts";
import { type Caller, type CodeTo, callEveryOperation } from "../fixture/example_calls.ts";
import { callDeliveries } from "../fixture/given_up.ts";
import { callOperation } from "../fixture/operation_call.ts";
import type { Postern } from "../harness.ts";
import type { Scales, Weight } from "./blocks.ts";
import { heavyCalls } from "./heavy.ts";
import { intersects, isPaged, type ListRequest, lists, requestsOf } from "./lists.ts";
import { largest } from "./skewed.ts";

/** A call, and what its statements weighed. */
export type Weighed = {
  readonly operationId: string;
  readonly request: Readonly<Record<string, unknown>>;
  /** Whether no single index serves it: it reads up to a bound of candidates. */
  readonly intersects: boolean;
  readonly weights: readonly Weight[];
};

type Request = Readonly<Record<string, unknown>>;
/** What is known of a service that is weighed. */
export type WeighedService = Pick<Postern, "url" | "admin">;

type Weighing = { readonly postern: WeighedService; readonly scales: Scales; readonly weighed: Weighed[] };
type Asks = (request: ListRequest) => boolean;

/** The settings of a service that is weighed: hashes are cheap, and the same connections have the same plans at the same time. */
export const weighedSettings = { databaseConnections: 2, publicUrl: "https://identity.example.com" } as const;

/**
 * Calls every operation of the contract, each list also by each filter and each two of them, in the largest organization of an instance
 * that was filled, unless `asks` leaves out some requests for lists. The calls are the same for every instance.
 */
export async function weighEverything(
  postern: WeighedService,
  scales: Scales,
  codeTo?: CodeTo,
  asks: Asks = () => true,
): Promise<Weighed[]> {
  const weighing: Weighing = { postern, scales, weighed: [] };
  await callEveryOperation(
    (operationId, request = {}, caller = {}) =>
      made(weighing, operationId, { request: { ...request, ...inLargest(operationId) }, caller }),
    async (application, person) => {
      const app = await foreignApplication(postern, largest, { ...application, ...refreshing });
      await connect(postern, { app, person, scope: "openid email offline_access" });
      return app.appId;
    },
    codeTo,
  );
  await callDeliveries((operationId, request = {}) => made(weighing, operationId, { request }), "mu1");
  for (const method of lists) await weighList(weighing, method, asks);
  for (const { operationId, request } of heavyCalls) await made(weighing, operationId, { request });
  return weighing.weighed;
}

/** People register in the organization that a request names, without working in one. */
const inLargest = (operationId: string): Request =>
  operationId === "RegistrationService_RequestRegistration" ? { organizationId: largest } : {};

async function weighList(weighing: Weighing, method: DescMethod, asks: Asks): Promise<void> {
  const page = isPaged(method) ? { pageSize: 20 } : {};
  for (const one of requestsOf(method).filter(asks)) {
    const { status } = await weigh(weighing, `${method.parent.name}_${method.name}`, {
      request: { ...page, ...one.body },
      intersects: intersects(one),
    });
    if (![200, 400, 404].includes(status)) throw new Error(`${method.name} ${JSON.stringify(one.body)}: ${status}`);
  }
}

type Asked = { readonly request: Request; readonly caller?: Caller; readonly intersects?: boolean };

/** Makes a call that has to succeed; answers its body. */
async function made(weighing: Weighing, operationId: string, asked: Asked) {
  const { status, body } = await weigh(weighing, operationId, asked);
  if (status !== 200) throw new Error(`${operationId} ${JSON.stringify(asked.request)}: ${JSON.stringify(body)}`);
  return body;
}

async function weigh({ postern, scales, weighed }: Weighing, operationId: string, asked: Asked) {
  const { request, intersects = false } = asked;
  const caller = { organizationId: placeOf(operationId, request), ...asked.caller };
  const called = { url: postern.url, token: postern.admin.token };
  const { answer, weights } = await scales.weigh(() =>
    callOperation(called, operationId, { request: request as JsonObject, caller }),
  );
  weighed.push({ operationId, request, intersects, weights });
  return answer;
}

/** The organization worked in: an organization that a request is about is worked in from within. */
const placeOf = (operationId: string, { organizationId }: Request): string =>
  /^(Organization|Member)Service/.test(operationId) && typeof organizationId === "string" ? organizationId : largest;
