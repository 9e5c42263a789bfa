import { expect, test } from "vitest";
import { grantsEndedBy, machinesEndedBy } from "../../../src/provider/request/machine_facts.ts";

const robot = { userId: "robot", owners: ["acme"] };

/** Whether a fact ends what is cached of the machine itself, and what is cached of its grants. */
const ended = (type: string, { owner = "acme", stream = "some" } = {}) =>
  [machinesEndedBy, grantsEndedBy].map((endedBy) => endedBy({ type, owner, stream })?.(robot) ?? false);

test("a cached machine, and what it may have, end with facts of its own and of the organizations that they depend on", () => {
  const other = { owner: "other" };
  const outcomes = [
    [ended("user.deactivated", { stream: "robot" }), [true, true]],
    [ended("user.deactivated"), [false, false]],
    [ended("machine_credential.removed"), [true, false]],
    [ended("machine_credential.removed", other), [false, false]],
    [ended("user_grant.removed"), [false, true]],
    [ended("user_grant.removed", other), [false, false]],
    [ended("project.role_removed"), [false, true]],
    [ended("application.api_changed"), [false, true]],
    [ended("project_grant.revoked", other), [false, true]],
    [ended("domain.verified", other), [false, true]],
    [ended("organization.deactivated", other), [true, true]],
    [ended("session.created"), [false, false]],
  ];
  for (const [found, wanted] of outcomes) expect(found).toEqual(wanted);
});

test("what a newer release writes of nouns that are unknown here ends everything", () => {
  for (const type of ["agent.stopped", "toString.called", "constructor.x", "nothing"])
    expect([type, ended(type, { owner: "other" })]).toEqual([type, [true, true]]);
});
