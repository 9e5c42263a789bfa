import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, signedUp } from "../../harness.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import { done, projectOf, refused } from "./invited.ts";
import { type Giver, gifts, giver, offer, type Receiver, receiver } from "./received.ts";

let nodes: TwoNodes;
let postern: Postern;
beforeAll(async () => {
  nodes = await startTwoNodes();
  postern = nodes.one;
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const path = "/v1/received-invitations";

const both = async () => {
  const [from, to] = [await giver(postern), await receiver(postern)];
  return { from, to };
};

/** Everything that another organization has given the person of an organization. */
async function given({ to }: { from: Giver; to: Receiver }): Promise<number> {
  return done(await to.owner.client.get(`/v1/users/${to.person.userId}/roles`)).userRoles.length;
}

const accept = ({ owner }: Receiver, id: string, node = postern) =>
  node.as(owner.client.token).post(`${path}/${id}:accept`);

test("what was declined cannot be offered again, until it is allowed", async () => {
  const between = await both();
  const { from, to } = between;
  const again = () => from.owner.client.post(...gifts["a user grant"](from, to));
  const allow = (client = to.person.client) =>
    client.post(`/v1/users/${to.person.userId}/roles:allow`, { organizationId: from.organizationId });
  done(await to.person.client.post(`${path}/${await offer("a user grant", between)}:decline`, { userId: "me" }));
  expect(refused(await again())).toEqual([400, "ENDED_BY_RECEIVER"]);
  // It is only about roles of that kind.
  const membership = await offer("a membership of a project", between);
  done(await allow());
  const id = await offer("a user grant", between);
  done(await to.owner.client.post(`${path}/${id}:decline`));
  expect(refused(await again())).toEqual([400, "ENDED_BY_RECEIVER"]);
  expect(refused(await allow())).toEqual([403, "PERMISSION_DENIED"]);
  done(await allow(to.owner.client));
  done(await accept(to, await offer("a user grant", between)));
  done(await accept(to, membership));

  // Where roles were accepted, declining more of them leaves those, and no more are offered.
  const more = { from: await giver(postern), to };
  done(await from.owner.client.delete(`/v1/projects/${from.projectId}/members/${to.person.userId}`));
  const viewer = done(await from.owner.client.post("/v1/members", { userId: to.person.userId, roles: ["ORG_VIEWER"] }));
  done(await accept(to, viewer.invitationId));
  done(await to.owner.client.post(`${path}/${await offer("a membership of a project", { from, to })}:decline`));
  expect(await given(between)).toBe(2);
  expect(refused(await from.owner.client.post(...gifts["a membership of a project"](from, to)))).toEqual([
    400,
    "ENDED_BY_RECEIVER",
  ]);
  expect(await offer("a user grant", more)).toBeDefined();
  // Those can still be ended.
  done(await to.owner.client.post(`/v1/users/${to.person.userId}/roles:end`, { organizationId: from.organizationId }));
  expect(await given(between)).toBe(0);
});

test("what is declined stays refused, whether another invitation of the giver is accepted before, at once or after", async () => {
  for (let round = 0; round < 6; round++) {
    const { from, to } = await both();
    const projectId = await projectOf(from.owner.client, {});
    const persons = await Promise.all(
      Array.from({ length: 6 }, () => signedUp(postern, { organizationId: to.organizationId })),
    );
    await Promise.all(
      persons.map(async (person, n) => {
        const between = { from, to: { ...to, person } };
        const declined = await offer("a user grant", between);
        const other = await offer("a user grant", { ...between, from: { ...from, projectId } });
        const [refusal, acceptance] = await Promise.all([
          nodes.through(n).as(person.client.token).post(`${path}/${declined}:decline`, { userId: "me" }),
          accept(to, other, nodes.through(n + 1)),
        ]);
        done(refusal);
        expect(acceptance.status === 200 || refused(acceptance)).toEqual(
          acceptance.status === 200 || [400, "ENDED_BY_RECEIVER"],
        );
        const { userRoles } = done(await to.owner.client.get(`/v1/users/${person.userId}/roles`));
        expect(userRoles).toHaveLength(acceptance.status === 200 ? 1 : 0);
        const again = () => from.owner.client.post(...gifts["a user grant"](from, { ...to, person }));
        expect(refused(await again())).toEqual([400, "ENDED_BY_RECEIVER"]);
        // Allowing it brings nothing back, and then it can be offered.
        const allow = { organizationId: from.organizationId };
        done(await person.client.post(`/v1/users/${person.userId}/roles:allow`, allow));
        const after = done(await to.owner.client.get(`/v1/users/${person.userId}/roles`)).userRoles;
        expect(after).toHaveLength(userRoles.length);
        done(await again());
      }),
    );
  }
}, 240_000);
