import type { JsonObject } from "@bufbuild/protobuf";
import { fresh, type Scene } from "./stage.ts";

const address = {
  streetAddress: "Bahnhofstrasse 1\n3. Stock",
  locality: "Zürich",
  region: "ZH",
  postalCode: "8001",
  country: "Schweiz",
};

type Extras = Pick<Scene, "fields" | "only">;

/** An update of a new human who has an address, with a look at it afterwards. */
const update = (name: string, says: Scene["says"], request: JsonObject, extras: Extras = {}): Scene => ({
  ...{ rpc: "UserService.UpdateHumanUser", name, says },
  ...extras,
  async given({ fixture, admin }) {
    const userId = await fixture.newUser();
    const human = { human: { address: { locality: "Bern" } } };
    await admin.call("PATCH", `/v1/users/${userId}/human`, human.human);
    const see = async () => {
      const { user } = (await admin.get(`/v1/users/${userId}`)).body;
      return { human: user.human, sequence: user.details.sequence };
    };
    return { request: { userId, ...request }, see };
  },
});

const creation = (name: string, says: Scene["says"], request: JsonObject, extras: Extras = {}): Scene => ({
  ...{ rpc: "UserService.CreateHumanUser", name, says },
  ...extras,
  given: () => {
    const username = fresh("u").replace(" ", "-");
    const person = { username, givenName: "Ada", familyName: "Byron", email: "ada@example.com" };
    return { request: { ...person, ...request } };
  },
});

/** The postal address of a user: what is stored, replaced, removed and refused. */
export const addressScenes: readonly Scene[] = [
  update("an address", "OK", { human: { address } }),
  update("one field of the address, which leaves the others", "OK", { human: { address: { country: "Schweiz" } } }),
  update("an address by the mask, which replaces the one before as a whole", "OK", {
    human: { address: { country: "Schweiz" } },
    updateMask: "address",
  }),
  update("a field of the address by the mask", "OK", { human: { address }, updateMask: "address.postalCode" }),
  update("a field by the mask that is not set, which removes it, and with it the address", "OK", {
    human: {},
    updateMask: "address.locality",
  }),
  update("an address with blanks around its lines", "OK", { human: { address: { locality: "  Genève " } } }),
  update("an address without any field, which removes it", "OK", { human: { address: {} } }),
  update("no address by the mask, which removes it", "OK", { human: {}, updateMask: "address" }),
  update("null, which removes it", "OK", { human: { address: null } }, { only: "rest" }),
  update("the address that there is", "OK", { human: { address: { locality: "Bern" } } }),
  update("a name, which leaves the address", "OK", { human: { givenName: "Eve" } }),
  update(
    "fields that are too long",
    "VALIDATION_FAILED",
    { human: { address: { streetAddress: "x".repeat(501), postalCode: "1".repeat(51) } } },
    { fields: ["human.address.streetAddress", "human.address.postalCode"] },
  ),
  update(
    "fields of the address that there are not",
    "VALIDATION_FAILED",
    { human: { address }, updateMask: "address.planet,address.locality.name,givenName.address" },
    { fields: ["updateMask", "updateMask", "updateMask"] },
  ),
  creation("with an address", "OK", { address }),
  creation(
    "with an address whose country nobody sees",
    "VALIDATION_FAILED",
    { address: { country: "\u200b" } },
    { fields: ["address.country"] },
  ),
];
