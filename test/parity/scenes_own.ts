import { randomBytes } from "node:crypto";
import { ownRows } from "../guards/own_rows.ts";
import { organization, signedUp } from "../harness.ts";
import { newNumber, person, type Scene, within } from "./stage.ts";

// All doors send at once, and each send to an address or a number has the next ordinal there.
const notShared: Readonly<Record<string, () => object>> = {
  "UserService.ChangeEmail": () => ({ email: `ada.${randomBytes(6).toString("hex")}@example.org` }),
  "UserService.ChangePhone": () => ({ phone: newNumber() }),
};

const ofMe = Object.entries(ownRows).map(
  ([rpc, { says, request }]): Scene => ({
    ...{ rpc, name: "of me", says },
    ...(rpc === "UserService.GetUser" && { not: { rest: "at this path is GetMe" } }),
    async given(stage) {
      const { client } = await person(stage);
      const own = { userId: "me", ...request, ...notShared[rpc]?.() };
      return { request: JSON.parse(JSON.stringify(own)), by: client, headers: {} };
    },
  }),
);

/** One's own data: by `me`, and the rules that hold for oneself. */
export const ownScenes: readonly Scene[] = [
  ...ofMe,
  {
    ...{ rpc: "UserService.SetPassword", name: "of me", says: "USER_NOT_FOUND" },
    not: { rest: "at this path is ChangePassword" },
    given: () => ({ request: { userId: "me", newPassword: "Green-Teapot-77" } }),
  },
  {
    ...{ rpc: "UserService.DeleteUser", name: "of me", says: "USER_NOT_FOUND" },
    not: { rest: "at this path is GetMe, by GET only" },
    given: () => ({ request: { userId: "me" } }),
  },
  {
    ...{
      rpc: "AccountService.EraseMe",
      name: "where the policy leaves it to administrators",
      says: "SELF_ERASURE_OFF",
    },
    given: async (stage) => ({ request: {}, by: (await person(stage)).client, headers: {} }),
  },
  {
    ...{ rpc: "AccountService.EraseMe", name: "where the policy lets people leave", says: "OK" },
    async given({ postern }) {
      const organizationId = await organization(postern);
      const policy = { restoreDays: 3, selfErasure: true };
      await postern.admin.put("/v1/policies/privacy", { policy }, within(organizationId));
      return { request: {}, by: (await signedUp(postern, { organizationId })).client, headers: {} };
    },
  },
  {
    ...{ rpc: "PolicyService.GetPasswordPolicy", name: "of one's own organization", says: "OK" },
    given: async (stage) => ({ request: {}, by: (await person(stage)).client, headers: {} }),
  },
  {
    ...{ rpc: "PolicyService.GetPasswordPolicy", name: "of another organization", says: "PERMISSION_DENIED" },
    given: async ({ postern, stranger }) => ({
      request: {},
      by: stranger,
      headers: within(await organization(postern)),
    }),
  },
];
