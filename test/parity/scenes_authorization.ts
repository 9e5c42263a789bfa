import type { JsonObject } from "@bufbuild/protobuf";
import { made, malformed, person, type Scene, type Stage, within } from "./stage.ts";

const evaluate = "AuthorizationService.Evaluate";
const evaluateMany = "AuthorizationService.EvaluateMany";

const typed = "the binary format has no wrong types";

const partsOf = (userId: string, projectId: string, role = "viewer"): JsonObject => ({
  subject: { type: "user", id: userId },
  action: { name: role },
  resource: { type: "project", id: projectId },
});

const yes = { decision: true };
const no = (reason: string) => ({ decision: false, context: { reason: `DENIAL_REASON_${reason}` } });

/** A user of the fixture's organization with the role `viewer` in its project. */
async function viewer(stage: Stage) {
  const { admin, fixture } = stage;
  const { userId, client } = await person(stage);
  const wanted = { projectId: fixture.projectId, roleKeys: ["viewer"] };
  await made(admin, `/v1/users/${userId}/grants`, wanted, within(fixture.organizationId));
  return { userId, client, question: partsOf(userId, fixture.projectId) };
}

const decides = (name: string, request: (question: JsonObject, stage: Stage) => JsonObject, answer: object): Scene => ({
  ...{ rpc: evaluate, name, says: "OK" },
  given: async (stage) => ({ request: request((await viewer(stage)).question, stage), answer }),
});

const decidesMany = (name: string, request: (question: JsonObject) => JsonObject, answer: object): Scene => ({
  ...{ rpc: evaluateMany, name, says: "OK" },
  given: async (stage) => ({ request: request((await viewer(stage)).question), answer }),
});

const refusesMany = (name: string, fields: string[], request: JsonObject): Scene => ({
  ...{ rpc: evaluateMany, name, says: "VALIDATION_FAILED", fields },
  given: () => ({ request }),
});

const editor = { action: { name: "editor" } };
const other = { resource: { type: "document", id: "1" } };
const bySemantic = (semantic: string) => (question: JsonObject) => ({
  ...question,
  evaluations: [{}, editor, {}],
  options: { evaluations_semantic: semantic },
});

/** Decisions, one by one and many at once. */
export const authorizationScenes: readonly Scene[] = [
  decides("of a role that is held", (question) => question, yes),
  decides("of a role that is not held", (question) => ({ ...question, ...editor }), no("ROLE_NOT_HELD")),
  decides("of another type of resource", (question) => ({ ...question, ...other }), no("ROLE_NOT_HELD")),
  decides(
    "within one organization",
    (question, { fixture: { projectId: id, organizationId } }) => ({
      ...question,
      resource: { type: "project", id, properties: { organizationId, more: [1, null, { a: true }] } },
      context: { time: "now" },
    }),
    yes,
  ),
  {
    ...{ rpc: evaluate, name: "about oneself", says: "OK" },
    async given(stage) {
      const { client } = await viewer(stage);
      return { request: partsOf("me", stage.fixture.projectId), by: client, headers: {}, answer: yes };
    },
  },
  {
    ...{ rpc: evaluate, name: "with fields that are unknown", says: "OK" },
    ...{ not: { binary: "the binary format has no names" }, malformed: malformed.fields },
    async given(stage) {
      const { question: request } = await viewer(stage);
      return { request, raw: { json: JSON.stringify({ ...request, future: { a: [1] } }) }, answer: yes };
    },
  },
  {
    ...{
      rpc: evaluate,
      name: "without its parts",
      says: "VALIDATION_FAILED",
      fields: ["subject.id", "action", "resource"],
    },
    given: () => ({ request: { subject: { type: "user" } } }),
  },
  {
    ...{ rpc: evaluate, name: "in no organization", says: "VALIDATION_FAILED" },
    fields: ["resource.properties.organizationId"],
    given: ({ fixture }) => ({
      request: {
        ...partsOf("ada", fixture.projectId),
        resource: { type: "project", id: fixture.projectId, properties: { organizationId: 7 } },
      },
    }),
  },
  {
    ...{ rpc: evaluate, name: "of parts with wrong types", says: "VALIDATION_FAILED" },
    ...{ fields: ["subject", "context", "action", "resource"], not: { binary: typed }, malformed: malformed.fields },
    given: () => ({ request: {}, raw: { json: JSON.stringify({ subject: 7, context: ["a"] }) } }),
  },
  decidesMany("by default", (question) => ({ ...question, evaluations: [{}, editor] }), {
    evaluations: [yes, no("ROLE_NOT_HELD")],
  }),
  decidesMany("until the first denial", bySemantic("deny_on_first_deny"), { evaluations: [yes, no("ROLE_NOT_HELD")] }),
  decidesMany("until the first permission", bySemantic("permit_on_first_permit"), { evaluations: [yes] }),
  decidesMany(
    "with one that lacks a part",
    ({ resource = null, ...rest }) => ({ ...rest, evaluations: [{ resource }, {}] }),
    {
      evaluations: [yes, no("INCOMPLETE")],
    },
  ),
  decidesMany("of none", (question) => question, { ...yes, evaluations: [] }),
  refusesMany("more than there may be", ["evaluations"], { evaluations: Array.from({ length: 1001 }, () => ({})) }),
  refusesMany("by an unknown semantic", ["options.evaluations_semantic"], {
    evaluations: [{}],
    options: { evaluations_semantic: "some" },
  }),
  refusesMany("in no organization, by index", ["evaluations[1].resource.properties.organizationId"], {
    evaluations: [{}, { resource: { type: "project", id: "p", properties: { organizationId: [] } } }],
  }),
  {
    ...{ rpc: "AuthorizationService.GetConfiguration", name: "with a field", says: "VALIDATION_FAILED" },
    ...{
      fields: ["tenant"],
      not: { binary: "the binary format has no names", rest: "a GET has no body" },
      malformed: malformed.fields,
    },
    given: () => ({ request: {}, raw: { json: JSON.stringify({ tenant: "a" }) } }),
  },
];
