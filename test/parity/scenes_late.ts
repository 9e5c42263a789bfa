import type { JsonObject } from "@bufbuild/protobuf";
import { person, type Scene, type Stage, within } from "./stage.ts";

type LateRequest = Pick<Scene, "rpc" | "name"> & {
  readonly by?: "viewer" | "stranger";
  /** The organization worked in, when it is not the fixture's. */
  readonly inside?: "historic";
  readonly request: JsonObject | ((stage: Stage) => JsonObject);
};

const scene = ({ rpc, name, by, inside, request }: LateRequest, fields: string[]): Scene => ({
  ...{ rpc, name, says: "VALIDATION_FAILED", fields },
  given: (stage) => ({
    request: typeof request === "function" ? request(stage) : request,
    ...(by && { by: stage[by] }),
    ...(inside && { headers: within(stage[inside]) }),
  }),
});

const long = "x".repeat(201);
/** A password that only lacks a digit. */
const withoutDigit = "Kettle-Green-Boat";

const creating = (request: JsonObject) => ({
  rpc: "UserService.CreateHumanUser",
  request: { username: "a b", givenName: "Ada", familyName: "Byron", email: "ada@example.com", ...request },
});
const granting = (request: (stage: Stage) => JsonObject = () => ({})) => ({
  rpc: "UserGrantService.AddUserGrant",
  request: (stage: Stage) => ({
    ...{ userId: long, projectId: stage.fixture.projectId, roleKeys: ["viewer", "ghost"] },
    ...request(stage),
  }),
});
const lending = (request: (stage: Stage) => JsonObject) => ({
  rpc: "ProjectService.GrantProject",
  request: (stage: Stage) => ({ projectId: stage.fixture.projectId, ...request(stage) }),
});

/** Requests with fields that are wrong by themselves, and others of which only the database knows that they are. */
export const lateScenes: readonly Scene[] = [
  {
    ...{ rpc: "AccountService.ChangePassword", name: "no old password, and a new one against the policy" },
    ...{ says: "VALIDATION_FAILED", fields: ["oldPassword", "newPassword"] },
    given: async (stage) => ({
      request: { oldPassword: "", newPassword: withoutDigit },
      by: (await person(stage)).client,
    }),
  },
  scene(
    {
      ...{ rpc: "AccountService.ChangePassword", name: "no old password, of a machine, which has no policy" },
      ...{ by: "stranger", request: { oldPassword: "", newPassword: withoutDigit } },
    },
    ["oldPassword"],
  ),
  scene(
    {
      ...{ rpc: "UserService.SetPassword", name: "an id of nobody, whose policy is not known" },
      request: { userId: long, newPassword: withoutDigit },
    },
    ["userId"],
  ),
  scene({ name: "a password against the policy beside a wrong field", ...creating({ password: withoutDigit }) }, [
    ...["username", "password"],
  ]),
  scene(
    {
      name: "a password against the policy beside a phone that gets no SMS",
      ...creating({ username: "tea", phone: "12", password: withoutDigit }),
    },
    ["phone", "password"],
  ),
  scene(
    {
      ...{ name: "a password that the policy of another organization allows", inside: "historic" },
      ...creating({ password: "kettlegreen" }),
    },
    ["username"],
  ),
  scene({ name: "a password that cannot be one is told once", ...creating({ password: "x".repeat(1001) }) }, [
    ...["username", "password"],
  ]),
  scene({ name: "who may not create learns no policy", by: "viewer", ...creating({ password: withoutDigit }) }, [
    "username",
  ]),
  scene({ name: "roles that are unknown beside a wrong user", ...granting() }, ["userId", "roleKeys[1]"]),
  scene(
    {
      name: "a granted project without its grant beside a wrong user",
      ...granting((stage) => ({ projectId: stage.granted.projectId })),
    },
    ["userId", "projectGrantId"],
  ),
  scene({ name: "a project that is not found tells no role", ...granting(() => ({ projectId: "none" })) }, ["userId"]),
  scene({ name: "a wrong role key leaves the others unsought", ...granting(() => ({ roleKeys: ["", "ghost"] })) }, [
    ...["userId", "roleKeys[0]"],
  ]),
  scene({ name: "who may only read learns no role", by: "viewer", ...granting() }, ["userId"]),
  scene({ name: "who may nothing learns no role", by: "stranger", ...granting() }, ["userId"]),
  scene(
    {
      name: "roles that are unknown beside a missing organization",
      ...lending(() => ({ roleKeys: ["ghost", "viewer", "zoë"] })),
    },
    ["grantedOrganizationId", "roleKeys[0]", "roleKeys[2]"],
  ),
  scene(
    {
      name: "the owner of the project beside a role twice",
      ...lending(({ fixture }) => ({
        grantedOrganizationId: fixture.organizationId,
        roleKeys: ["viewer", "viewer"],
      })),
    },
    ["roleKeys", "grantedOrganizationId"],
  ),
  scene({ name: "who may not grant learns no role", by: "viewer", ...lending(() => ({ roleKeys: ["ghost"] })) }, [
    "grantedOrganizationId",
  ]),
  scene(
    {
      ...{ rpc: "ProjectService.ChangeProjectGrant", name: "roles that are unknown beside a wrong project grant" },
      request: ({ fixture }) => ({
        ...{ projectId: fixture.projectId, projectGrantId: long, roleKeys: ["ghost"] },
      }),
    },
    ["projectGrantId", "roleKeys[0]"],
  ),
];
