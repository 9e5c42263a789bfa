import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type AuthorizationService,
  DenialReason,
  type EvaluateManyRequest,
  EvaluateManyRequestSchema,
  EvaluateRequestSchema,
  type Evaluation,
} from "../../../gen/postern/v1/authorization_pb.ts";
import type { Deps } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { messageRule } from "../../rules.ts";
import { type Denial, denialRead, denialsRead, organizationProperty, type Parts } from "./evaluate.ts";

/** Decides whether users may act in roles in projects. */
export const authorizationService = ({ sql }: Pick<Deps, "sql">, settings: PublicSettings) => {
  const denialOf = denialRead(sql);
  const denialsOf = denialsRead(sql);

  return {
    async evaluate(request, call) {
      return decision(permitted(await denialOf(request, call)));
    },

    async evaluateMany(request, call) {
      const { evaluations, options } = request;
      if (evaluations.length === 0) return decision(permitted(await denialOf(request, call)));
      const denials = await denialsOf(evaluations.map(completedBy(request)), call);
      if (denials.every(isNotPermitted)) throw notPermitted();
      return { evaluations: upToLast(denials, options?.evaluationsSemantic).map(decision) };
    },

    getConfiguration(_request, call) {
      const here = publicUrlOf(settings, call);
      return {
        policyDecisionPoint: here,
        accessEvaluationEndpoint: `${here}/access/v1/evaluation`,
        accessEvaluationsEndpoint: `${here}/access/v1/evaluations`,
      };
    },
  } satisfies ServiceImpl<typeof AuthorizationService>;
};

export type PublicSettings = { readonly publicUrl: string | undefined; readonly tlsCertFile: string };

const completedBy =
  (request: EvaluateManyRequest) =>
  ({ subject, action, resource }: Evaluation): Parts => ({
    subject: subject ?? request.subject,
    action: action ?? request.action,
    resource: resource ?? request.resource,
  });

const isNotPermitted = (denial: Denial) => denial === DenialReason.NOT_PERMITTED;

/** Fails the call if the caller may not ask the question, the only one of the call. */
export function permitted(denial: Denial): Denial {
  if (isNotPermitted(denial)) throw notPermitted();
  return denial;
}

const notPermitted = () => refuse.because("PERMISSION_DENIED", { params: { permission: "authorization.evaluate" } });

const decision = (reason: Denial) =>
  reason === undefined ? { decision: true } : { decision: false, context: { reason } };

/** The decisions up to the first one that, by the semantic, settles the rest. */
function upToLast(denials: readonly Denial[], semantic = ""): readonly Denial[] {
  const isLast = ends.get(semantic);
  const last = isLast ? denials.findIndex(isLast) : -1;
  return last === -1 ? denials : denials.slice(0, last + 1);
}

const isDenied = (denial: Denial): boolean => denial !== undefined;
const isPermitted = (denial: Denial): boolean => denial === undefined;
const ends = new Map([
  ["deny_on_first_deny", isDenied],
  ["permit_on_first_permit", isPermitted],
]);

/** The URL of the instance without a trailing slash: PUBLIC_URL, otherwise the URL of the call. */
function publicUrlOf({ publicUrl, tlsCertFile }: PublicSettings, { url }: Pick<HandlerContext, "url">): string {
  if (publicUrl === undefined) return `${tlsCertFile ? "https" : "http"}://${new URL(url).host}`;
  const { origin, pathname } = new URL(publicUrl);
  return `${origin}${pathname.replace(/\/+$/, "")}`;
}

export const authorizationRules = [
  messageRule(EvaluateRequestSchema, (request) => [...missingIn(request), ...wrongOrganization(request, "")]),
  messageRule(EvaluateManyRequestSchema, (request) => [
    ...(request.evaluations.length === 0 ? missingIn(request) : []),
    ...wrongOrganization(request, ""),
    ...request.evaluations.flatMap((one, at) => wrongOrganization(one, `evaluations[${at}].`)),
  ]),
];

function missingIn({ subject, action, resource }: Parts): Violation[] {
  const texts = {
    ...(subject ? { "subject.type": subject.type, "subject.id": subject.id } : { subject: "" }),
    ...(action ? { "action.name": action.name } : { action: "" }),
    ...(resource ? { "resource.type": resource.type, "resource.id": resource.id } : { resource: "" }),
  };
  return Object.entries(texts).flatMap(([field, value]) =>
    value === "" ? [{ field, text: "FIELD_REQUIRED", reason: "REQUIRED" }] : [],
  );
}

function wrongOrganization({ resource }: Parts, path: string): Violation[] {
  const named = resource?.properties?.[organizationProperty];
  if (named === undefined || (typeof named === "string" && named !== "" && named.length <= 200)) return [];
  const field = `${path}resource.properties.${organizationProperty}`;
  return [{ field, text: "ORGANIZATION_ID", reason: "ORGANIZATION_ID" }];
}
