import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, signedUp } from "../../harness.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import type { Application, Person } from "../application.ts";
import type { Browser, Shown } from "../browser.ts";
import { approve, beginDevice, type Codes, deviceApplication, poll, untilConfirmation } from "../device_flow.ts";

let nodes: TwoNodes;
let postern: Postern;
beforeAll(async () => {
  nodes = await startTwoNodes({ publicUrl: "https://id.example" });
  postern = nodes.one;
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

/** A device that its user approved, one that the user is asked about, and one that the user has not seen. */
type Held = {
  readonly app: Application;
  readonly person: Person;
  readonly approved: Codes;
  readonly shown: Codes;
  readonly browser: Browser;
  readonly page: Shown;
};

async function held(): Promise<Held> {
  const [app, person] = [await deviceApplication(postern.admin), await signedUp(postern)];
  const [approved, shown] = [await beginDevice(postern.url, app), await beginDevice(nodes.two.url, app)];
  await approve(postern.url, approved, person);
  return { app, person, approved, shown, ...(await untilConfirmation(nodes.two.url, shown, person)) };
}

/** The answers of the other node to both devices, and the status of the page on which the user approves the second one. */
async function outcomes({ app, approved, shown, browser, page }: Held) {
  const answer = async (codes: Codes) => {
    const { status, body } = await poll(nodes.two.url, app, codes);
    return body.error ?? status;
  };
  return {
    approved: await answer(approved),
    page: (await browser.submit(page, {}, "continue")).status,
    shown: await answer(shown),
  };
}

const done = ({ status, body }: { status: number; body: unknown }) =>
  expect([status, body]).toEqual([200, expect.anything()]);
const appPath = ({ app }: Held) => `/v1/projects/${app.projectId}/applications/${app.appId}`;

// The page of a session that has ended is no longer its user's.
const ended = { approved: "invalid_grant", page: 403, shown: "authorization_pending" };
const clientGone = { approved: "invalid_client", page: 400, shown: "invalid_client" };

const events: Readonly<
  Record<string, { readonly happens: (held: Held) => Promise<unknown>; readonly expected: object }>
> = {
  nothing: { happens: async () => {}, expected: { approved: 200, page: 200, shown: 200 } },
  "the user is deactivated": {
    happens: async ({ person }) => done(await postern.admin.post(`/v1/users/${person.userId}:deactivate`)),
    expected: ended,
  },
  "the user is deactivated and reactivated": {
    async happens({ person }) {
      done(await postern.admin.post(`/v1/users/${person.userId}:deactivate`));
      done(await postern.admin.post(`/v1/users/${person.userId}:reactivate`));
    },
    expected: ended,
  },
  "the user is deleted": {
    happens: async ({ person }) => done(await postern.admin.delete(`/v1/users/${person.userId}`)),
    expected: ended,
  },
  "the user is locked": {
    async happens({ person }) {
      for (let n = 0; n < 10; n++)
        await postern.as().post("/v1/sessions", { loginName: person.username, password: "wrong" });
    },
    expected: { approved: 200, page: 200, shown: 200 },
  },
  "the password is changed": {
    happens: async ({ person }) =>
      done(await postern.admin.put(`/v1/users/${person.userId}/password`, { newPassword: "Green-Teapot-77" })),
    expected: ended,
  },
  "the sessions of the browsers are ended": {
    async happens({ person }) {
      const { body } = await postern.admin.get(`/v1/sessions?userId=${person.userId}`);
      for (const { id } of body.sessions) done(await postern.admin.delete(`/v1/sessions/${id}`));
    },
    expected: ended,
  },
  "the application is deactivated": {
    happens: async (held) => done(await postern.admin.post(`${appPath(held)}:deactivate`)),
    expected: clientGone,
  },
  "the application is deleted": {
    happens: async (held) => done(await postern.admin.delete(appPath(held))),
    expected: clientGone,
  },
  "the project is deactivated": {
    happens: async ({ app }) => done(await postern.admin.post(`/v1/projects/${app.projectId}:deactivate`)),
    expected: clientGone,
  },
  "the application may not sign devices in any more": {
    happens: async (held) =>
      done(
        await postern.admin.call("PATCH", `${appPath(held)}/oidc`, {
          responseTypes: ["OIDC_RESPONSE_TYPE_CODE"],
          grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE"],
          redirectUris: ["com.example.app:/cb"],
        }),
      ),
    expected: { approved: "unauthorized_client", page: 400, shown: "unauthorized_client" },
  },
};

test.each(Object.keys(events))("when %s, each device gets what the table says", async (name) => {
  const { happens, expected } = events[name] ?? expect.unreachable();
  const one = await held();
  await happens(one);
  expect(await outcomes(one)).toEqual(expected);
});
