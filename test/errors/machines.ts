import type { Reason } from "../../src/reasons.ts";
import { newJwk } from "../fixture/jwk.ts";
import { machine } from "../harness.ts";
import type { Row } from "./provocation.ts";

/** The refusals about client secrets and keys of machines. */
export const machineRows = {
  MACHINE_CREDENTIAL_NOT_FOUND: {
    by: async ({ german, fixture }) => german.delete(`/v1/users/${await fixture.newMachine()}/credentials/none`),
    details: ["ResourceInfo"],
  },
  MACHINE_KEY_EXISTS: {
    async by({ admin, german, fixture }) {
      const path = `/v1/users/${await fixture.newMachine()}/keys`;
      await admin.post(path, { publicKey: newJwk("one") });
      return german.post(path, { publicKey: newJwk("one") });
    },
    details: ["ResourceInfo"],
  },
  MACHINE_KEY_LIMIT: {
    async by({ admin, german, fixture }) {
      const path = `/v1/users/${await fixture.newMachine()}/keys`;
      for (let added = 0; added < 20; added++) await admin.post(path, { publicKey: newJwk() });
      return german.post(path, { publicKey: newJwk() });
    },
  },
  OWN_MACHINE_DELEGATION: {
    async by({ postern, admin, germanAs }) {
      const { userId, client } = await machine(postern);
      await admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] });
      return germanAs(client.token).put(`/v1/users/${userId}/delegation`);
    },
  },
  RESOURCE_URI_UNKNOWN: {
    async by({ german, fixture }) {
      const servedResources = ["https://nobody.example/"];
      return german.put(`/v1/users/${await fixture.newMachine()}/delegation`, { servedResources });
    },
    details: ["BadRequest"],
  },
  OWN_MACHINE_CREDENTIAL: {
    async by({ postern, admin, germanAs }) {
      const { userId, client } = await machine(postern);
      await admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] });
      return germanAs(client.token).post(`/v1/users/${userId}/secrets`);
    },
  },
} as const satisfies Partial<Record<Reason, Row>>;
