import type { JsonObject } from "@bufbuild/protobuf";
import type { Scene } from "./stage.ts";

type Extras = Pick<Scene, "fields" | "only">;

/** A change of a new user's metadata, with a look at it afterwards. */
const change = (name: string, says: Scene["says"], entries: JsonObject[], extras: Extras = {}): Scene => ({
  ...{ rpc: "UserService.SetUserMetadata", name, says },
  ...extras,
  async given({ fixture, admin }) {
    const userId = await fixture.newUser();
    const path = `/v1/users/${userId}/metadata`;
    const before = [
      { key: "plan", value: "gold" },
      { key: "desk", value: "7" },
    ];
    await admin.call("PATCH", path, { entries: before });
    return { request: { userId, entries }, see: async () => (await admin.get(path)).body };
  },
});

const odd = ["__proto__", "constructor", "a:b/c.d-e"].map((key) => ({ key, value: "x" }));

/** The metadata of users and organizations: what is set, removed, shared and refused. */
export const metadataScenes: readonly Scene[] = [
  change("entries that are set, shared, emptied and removed", "OK", [
    { key: "plan", value: "silver", shared: true },
    { key: "Plan", value: "🚢\nZürich" },
    { key: "desk" },
    { key: "empty", value: "" },
  ]),
  change("null, which removes it", "OK", [{ key: "plan", value: null }], { only: "rest" }),
  change("what there is, which changes nothing", "OK", [{ key: "plan", value: "gold" }, { key: "none" }]),
  change("keys of a special meaning elsewhere", "OK", odd),
  change(
    "keys and values that are none",
    "VALIDATION_FAILED",
    [{ key: "a b", value: "x" }, { value: "x" }, { key: "long", value: "x".repeat(501) }],
    { fields: ["entries[0].key", "entries[1].key", "entries[2].value"] },
  ),
  change("a key twice", "VALIDATION_FAILED", [{ key: "plan", value: "x" }, { key: "plan" }], {
    fields: ["entries[1].key"],
  }),
  {
    ...{ rpc: "OrganizationService.GetOrganizationMetadata", says: "OK", name: "of an organization that has none" },
    given: ({ fixture: { organizationId } }) => ({ request: { organizationId } }),
  },
];
