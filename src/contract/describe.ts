import { type DescMethod, type DescService, getOption, hasOption } from "@bufbuild/protobuf";
import { httpRulesOf, isRead, type MethodLimits, pathOf } from "@postern/gateway";
import { type Access, access, authzen } from "../../gen/postern/v1/options_pb.ts";
import { limitsOf } from "./message_limit.ts";

/** The description of an rpc, made once, for guards, limits, documents and metrics. */
export type RpcDescription = {
  readonly method: DescMethod;
  /** `/postern.v1.UserService/GetUser` */
  readonly path: string;
  readonly access: Access;
  /** Whether the rpc needs no authentication. */
  readonly isOpen: boolean;
  readonly isRead: boolean;
  /** Whether an idempotency key has an effect: on every write by an authenticated caller. */
  readonly isKeyed: boolean;
  readonly rest: ReturnType<typeof httpRulesOf>;
  readonly limits: MethodLimits;
};

const described = new WeakMap<DescMethod, RpcDescription>();

/** Describes an rpc, or throws an error that names the option missing from its proto. */
export function describe(method: DescMethod): RpcDescription {
  const known = described.get(method);
  if (known) return known;
  const description = fresh(method);
  described.set(method, description);
  return description;
}

function fresh(method: DescMethod): RpcDescription {
  const name = `${method.parent.typeName}.${method.name}`;
  const option = hasOption(method, access) ? getOption(method, access) : undefined;
  if (option?.who.case === undefined) throw new Error(`${name} has no access option: say in its proto who may call it`);
  const rest = httpRulesOf(method);
  if (rest.length === 0) throw new Error(`${name} has no REST path: give it a google.api.http option`);
  const isOpen = option.who.case === "anyone";
  const reads = isRead(method);
  return {
    method,
    path: pathOf(method),
    access: option,
    isOpen,
    isRead: reads,
    isKeyed: method.methodKind === "unary" && !reads && !isOpen,
    rest,
    limits: limitsOf(method),
  };
}

/** Whether an rpc belongs to AuthZEN's Authorization API, whose requests may have unknown fields. */
export const isAuthzen = (method: DescMethod): boolean => getOption(method, authzen);

/** Describes all rpcs of these services; an rpc without a required option prevents the start. */
export const describeAll = (services: readonly DescService[]): readonly RpcDescription[] =>
  services.flatMap(({ methods }) => methods.map(describe));
