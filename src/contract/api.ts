import type { DescField, DescMethod } from "@bufbuild/protobuf";
import { getOption, hasOption } from "@bufbuild/protobuf";
import { type ApiOptions, httpStatusOf, type MethodFacts } from "@postern/gateway";
import { comments } from "../../gen/comments.ts";
import { type Access, caller_alias, max_inner_items, trim } from "../../gen/postern/v1/options_pb.ts";
import { refuse } from "../errors.ts";
import { type Reason, reasons } from "../reasons.ts";
import { describe, isAuthzen, type RpcDescription } from "./describe.ts";
import { errorExamples } from "./error_examples.ts";
import examples from "./examples.json" with { type: "json" };

type Parameter = ApiOptions["parameters"][string];

export const apiOptions = (rpcs: readonly RpcDescription[]): ApiOptions => ({
  info: {
    title: "Postern",
    version: "v1",
    summary:
      "Organizations, users, projects, roles and grants, over gRPC, gRPC-Web, Connect and REST/JSON on one port.",
    description,
    contact: { name: "Postern", url: "https://github.com/postern/postern" },
    license: { name: "Apache-2.0", identifier: "Apache-2.0" },
  },
  methods: rpcs.map(({ method }) => method),
  describe: factsOf,
  comments,
  prefix: "postern.v1.",
  parameters: sharedParameters,
  bearer: "A session token or an access token.",
  responseHeaders: {
    "x-request-id": {
      description: "Names this call in the log of the server; a decision has the caller's own.",
      schema: { type: "string" },
    },
  },
  domain: "postern",
  reasons: reasonsByStatus(),
  examples,
  errorExamples: errorExamples(),
  remarks,
});

const description = [
  "Every operation answers gRPC, gRPC-Web, Connect and plain JSON on one port, with the same effect, answer and refusal.",
  "JSON is proto3 JSON: names in lowerCamelCase, 64-bit numbers as text, times by RFC 3339, durations such as `5s`.",
  "Fields that the contract does not know are refused with their path.",
].join(" ");

/** The error reasons by HTTP status. */
export function reasonsByStatus(): ReadonlyMap<number, readonly Reason[]> {
  return Map.groupBy(Object.keys(reasons).filter(isReason), (reason) => httpStatusOf(refuse.because(reason)));
}

const isReason = (name: string): name is Reason => Object.hasOwn(reasons, name);

/** The request headers that several operations share. */
const sharedParameters: Readonly<Record<string, Parameter>> = {
  "x-service-orgid": header("x-service-orgid", "The organization worked in; by default the caller's own."),
  "idempotency-key": header(
    "idempotency-key",
    "Repeats of a call with the same key and body get the first answer again, for 24 hours.",
    { minLength: 1, maxLength: 200, pattern: "^[!-~]+$" },
  ),
  "accept-language": header("accept-language", "The language of texts: en, de, fr or es."),
  "connect-timeout-ms": header(
    "connect-timeout-ms",
    "Milliseconds after which the caller no longer waits; a call that is no stream ends in time in any case.",
    { pattern: "^[1-9][0-9]{0,9}$" },
  ),
  "x-request-id": header("x-request-id", "The caller's own id of the request, which the response repeats.", {
    maxLength: 200,
    pattern: "^[ -~]+$",
  }),
  "last-event-id": header(
    "last-event-id",
    "Goes on after this position, as browsers ask by themselves; wins over `after`.",
  ),
};

function header(name: string, description: string, more: Parameter["schema"] = {}): Parameter {
  return { name, in: "header", required: false, description, schema: { type: "string", ...more } };
}

function factsOf(method: DescMethod): MethodFacts {
  const { access, isOpen, isKeyed, rest, limits } = describe(method);
  const permission = access.who.case === "permission" ? access.who.value : undefined;
  return {
    rest,
    messageMaxBytes: limits.messageMaxBytes,
    isOpen,
    sentence: sentence(method, access),
    permission,
    headers: [
      ...(access.organization ? ["x-service-orgid"] : []),
      ...(isKeyed ? ["idempotency-key"] : []),
      ...["accept-language", "connect-timeout-ms"],
      ...(isAuthzen(method) ? ["x-request-id"] : []),
      ...(method.methodKind === "unary" ? [] : ["last-event-id"]),
    ],
    statuses: statusesOf(method, { permission, writes: isKeyed || isOpen }),
  };
}

function statusesOf(
  { input }: DescMethod,
  { permission, writes }: { permission: string | undefined; writes: boolean },
) {
  const names = input.fields.some(({ name }) => name.endsWith("_id"));
  return [401, ...(permission ? [403] : []), ...(names || permission ? [404] : []), ...(writes ? [409, 429] : [])];
}

/** Describes the options of a field in sentences. */
const remarks = (field: DescField): string[] => [
  ...(hasOption(field, trim) && getOption(field, trim) ? ["Blanks around it are dropped."] : []),
  ...(hasOption(field, caller_alias) && getOption(field, caller_alias) ? ["`me` is the caller's own id."] : []),
  ...(hasOption(field, max_inner_items)
    ? [`At most ${getOption(field, max_inner_items)} items in its inner lists together.`]
    : []),
];

function sentence(method: DescMethod, option: Access): string {
  const json = (name: string) => `\`${method.input.fields.find((field) => field.name === name)?.jsonName ?? name}\``;
  const either = (names: readonly string[]) => names.map(json).join(" or ");
  switch (option.who.case) {
    case "anyone":
      return "Anyone may call it.";
    case "signedIn":
      return "Every caller who is signed in may call it.";
    case "permission": {
      const unless = option.selfUnless.length > 0 ? ` unless ${either(option.selfUnless)} is set` : "";
      const when = option.coversUserWhen.length > 0 ? ` when ${either(option.coversUserWhen)} is set` : "";
      return [
        `Needs the permission \`${option.who.value}\` ${place(option)}.`,
        ...option.instead.map(({ permission, when }) =>
          when ? `With ${json(when)}, \`${permission}\` is enough.` : `\`${permission}\` is enough instead.`,
        ),
        ...(option.self ? [`A user needs none for itself${unless}.`] : []),
        ...(option.ownUser ? [`A user needs none for its own, by its id in ${json(option.ownUser)}.`] : []),
        ...(option.ownOrganization ? ["Nobody needs it in the caller's own organization."] : []),
        ...(option.instance ? [`With ${json(option.instance)} it needs \`${option.instancePermission}\`.`] : []),
        ...(option.partial && !option.aboutOneself
          ? ["A role on an object inside suffices; only what the caller may read is shown."]
          : []),
        ...(option.aboutOneself ? ["Without it a caller may ask about itself."] : []),
        ...(option.coversUser ? [`The caller must hold every permission of that user${when}.`] : []),
        ...(option.givesRole
          ? [`With ${json(option.givesRoleWhen)} the caller must hold every permission of \`${option.givesRole}\`.`]
          : []),
        ...(option.coversRoles ? [`The caller must hold every permission of the ${json(option.coversRoles)}.`] : []),
      ].join(" ");
    }
    case undefined:
      return "";
  }
}

function place(option: Access): string {
  if (option.user) return "in the organization of the user";
  if (option.aboutOneself) return "for the project in question";
  return option.organization ? "in the organization worked in" : "on the instance";
}
