import type { JsonObject } from "@bufbuild/protobuf";
import { newId } from "../../src/deps.ts";
import { fresh, made, type Scene, type Stage, within } from "./stage.ts";

const named = () => ({ username: fresh("u").replace(" ", "-"), name: "Robot" });
const human = () => ({ username: named().username, givenName: "Ada", familyName: "Byron", email: "ada@example.com" });

const scene = (
  rpc: string,
  says: Scene["says"],
  name: string,
  asked: (stage: Stage) => Promise<JsonObject>,
): Scene => ({
  ...{ rpc, name, says },
  given: async (stage) => ({ request: await asked(stage) }),
});

const wrong = (rpc: string, name: string, fields: readonly string[], request: JsonObject): Scene => ({
  ...{ rpc, name, fields, says: "VALIDATION_FAILED" },
  given: () => ({ request }),
});

/** An id that a user had who is deleted. */
async function spentId({ admin, fixture }: Stage): Promise<string> {
  const userId = newId();
  await made(admin, "/v1/users/machine", { ...named(), userId }, within(fixture.organizationId));
  await admin.delete(`/v1/users/${userId}`);
  return userId;
}

/** A client id that an application of the fixture has. */
async function usedClientId({ admin, fixture }: Stage): Promise<string> {
  const clientId = newId();
  const path = `/v1/projects/${fixture.projectId}/applications/oidc`;
  await made(admin, path, { name: fresh("app"), clientId }, within(fixture.organizationId));
  return clientId;
}

const users = "UserService.CreateUsers";
const humanUser = "UserService.CreateHumanUser";
const application = "ApplicationService.CreateOidcApplication";
const bcrypt10 = "$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy";

/** Users and applications from elsewhere, one by one and in batches. */
export const importScenes: readonly Scene[] = [
  scene(users, "OK", "a human and a machine", async () => ({ items: [{ human: human() }, { machine: named() }] })),
  scene(users, "OK", "with codes for the addresses that are not verified", async () => ({
    items: [{ human: human() }, { human: { ...human(), isEmailVerified: true } }],
    sendEmailCodes: true,
  })),
  scene(users, "OK", "with outcomes that differ", async (stage) => ({
    items: [{ machine: { ...named(), userId: await spentId(stage) } }, { human: human() }],
  })),
  scene(users, "ID_TAKEN", "all or nothing, with an id that a deleted user had", async (stage) => ({
    items: [{ human: human() }, { machine: { ...named(), userId: await spentId(stage) } }],
    allOrNothing: true,
  })),
  scene(users, "OK", "the same name twice", async () => {
    const machine = named();
    return { items: [{ machine }, { machine: { ...machine, username: machine.username.toUpperCase() } }] };
  }),
  wrong(users, "none", ["items"], { items: [] }),
  wrong(users, "everything wrong at once", ["items[0]", "items[1].machine.username", "items[2].human.passwordHash"], {
    items: [{}, { machine: { username: "ﷺ".repeat(20), name: "x" } }, { human: { ...human(), passwordHash: "md5" } }],
    allOrNothing: true,
  }),
  wrong(users, "more than there may be", ["items"], {
    items: Array.from({ length: 501 }, () => ({ machine: { username: "a", name: "b" } })),
  }),
  scene(humanUser, "OK", "with a verified address", async () => ({ ...human(), isEmailVerified: true })),
  scene(humanUser, "OK", "with an id and a hash", async () => ({
    ...human(),
    ...{ userId: newId(), passwordHash: bcrypt10 },
  })),
  scene(humanUser, "ID_TAKEN", "with an id that a deleted user had", async (stage) => ({
    ...{ ...human(), userId: await spentId(stage) },
  })),
  scene(humanUser, "ID_TAKEN", "with the id of a project", async ({ fixture }) => ({
    ...{ ...human(), userId: fixture.projectId },
  })),
  wrong(humanUser, "with the id me", ["userId"], { ...human(), userId: "me" }),
  wrong(humanUser, "with the id of a policy", ["userId"], { ...human(), userId: "lockout-policy" }),
  wrong(humanUser, "with an id of other characters", ["userId"], { ...human(), userId: "a b" }),
  wrong(humanUser, "with a hash that costs too much", ["passwordHash"], {
    ...{ ...human(), passwordHash: bcrypt10.replace("$10$", "$31$") },
  }),
  wrong(humanUser, "with a hash without bytes", ["passwordHash"], { ...human(), passwordHash: "$pbkdf2-sha256$1$a$a" }),
  wrong(humanUser, "with a hash and a password", ["passwordHash"], {
    ...{ ...human(), passwordHash: bcrypt10, password: "Blue-Kettle-42" },
  }),
  scene(application, "OK", "with a client id and the hash of its secret", async ({ fixture }) => ({
    ...{
      projectId: fixture.projectId,
      name: fresh("app"),
      clientId: newId(),
      clientSecretHash: "aB".repeat(32),
    },
  })),
  scene(application, "ID_TAKEN", "with the client id of another", async (stage) => ({
    ...{ projectId: stage.fixture.projectId, name: fresh("app"), clientId: await usedClientId(stage) },
  })),
  wrong(application, "with the hash of a secret that its method does not use", ["clientSecretHash"], {
    ...{ projectId: "p", name: "a", authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE", clientSecretHash: "a".repeat(64) },
  }),
  wrong(application, "with a hash that is none", ["clientSecretHash", "clientId"], {
    ...{ projectId: "p", name: "a", clientId: "a b", clientSecretHash: "secret" },
  }),
];
