import { expect, test } from "vitest";
import { everything } from "../../../src/events/fact_cache.ts";
import { grantsEndedBy, isCacheable, machinesEndedBy } from "../../../src/provider/request/machine_facts.ts";

/** What a fact ends of the machines that are cached, and of their grants. */
const ended = (type: string) =>
  [machinesEndedBy, grantsEndedBy].map((endedBy) => endedBy({ type, owner: "owner", stream: "stream" }));

test.each([
  ["user.deactivated", ["stream", "stream"]],
  ["organization.deactivated", ["stream", "stream"]],
  ["machine_credential.removed", ["owner", undefined]],
  ["user_grant.removed", [undefined, "owner"]],
  ["project.role_removed", [undefined, "stream"]],
  ["project_grant.revoked", [undefined, "owner"]],
  ["application.deactivated", [undefined, "owner"]],
  ["application.oidc_created", [undefined, "owner"]],
  // These may take the URI of an API from another organization.
  ["application.api_changed", [undefined, everything]],
  ["domain.verified", [undefined, everything]],
  ["session.created", [undefined, undefined]],
  // What a newer release writes of nouns that are unknown here could end anything.
  ["agent.stopped", [everything, everything]],
  ["toString.called", [everything, everything]],
  ["nothing", [everything, everything]],
])("%s ends what depends on the object that changed", (type, ids) => {
  expect(ended(type)).toEqual(ids);
});

test("a grant of a thousand long roles is not cached", () => {
  const roles = Array.from({ length: 1_000 }, (_, n) => `role-${n}`.padEnd(200, "x"));
  expect([isCacheable({ roles: roles.slice(0, 50) }), isCacheable({ roles })]).toEqual([true, false]);
});
