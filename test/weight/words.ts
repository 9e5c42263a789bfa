import type { Answer, Client } from "../rest_client.ts";

/** An organization, and things of it. */
export type Place = {
  readonly organization: string;
  readonly project: string;
  readonly user: string;
  readonly member: string;
  readonly role: string;
  readonly application: string;
  /** A project that may go. */
  readonly plan: string;
};

type Change = {
  readonly name: string;
  /** The table whose rows have words, and what happens to the row. */
  readonly writes: `${string} ${"update" | "delete"}`;
  readonly make: (call: Client["call"], place: Place, nth: string) => Promise<Answer>;
};

/** Every kind of change of a row that has words, as callers make it. Deletions come last. */
export const changes: readonly Change[] = [
  {
    ...{ name: "ChangePhone", writes: "users update" },
    make: (call, { user }, nth) => call("POST", `/v1/users/${user}/phone`, { phone: `+4178${nth}`, isVerified: true }),
  },
  {
    ...{ name: "ChangeEmail", writes: "users update" },
    make: (call, { user }, nth) =>
      call("POST", `/v1/users/${user}/email`, { email: `new${nth}@example.org`, isVerified: true }),
  },
  {
    ...{ name: "ChangeUsername", writes: "users update" },
    make: (call, { user }, nth) => call("PUT", `/v1/users/${user}/username`, { username: `renamed${nth}` }),
  },
  {
    ...{ name: "UpdateHumanUser", writes: "users update" },
    make: (call, { user }, nth) => call("PATCH", `/v1/users/${user}/human`, { givenName: `Grace${nth}` }),
  },
  {
    ...{ name: "UpdateOrganization", writes: "organizations update" },
    make: (call, { organization }, nth) =>
      call("PATCH", `/v1/organizations/${organization}`, { name: `Renamed ${nth}` }),
  },
  {
    ...{ name: "UpdateProject", writes: "projects update" },
    make: (call, { project }, nth) => call("PATCH", `/v1/projects/${project}`, { name: `Renamed ${nth}` }),
  },
  {
    ...{ name: "UpdateProjectRole", writes: "project_roles update" },
    make: (call, { project, role }, nth) =>
      call("PATCH", `/v1/projects/${project}/roles/${role}`, { displayName: `Renamed ${nth}` }),
  },
  {
    ...{ name: "UpdateOidcApplication", writes: "applications update" },
    make: (call, { project, application }, nth) =>
      call("PATCH", `/v1/projects/${project}/applications/${application}/oidc`, { name: `Renamed ${nth}` }),
  },
  {
    ...{ name: "ChangeMember", writes: "members update" },
    make: (call, { organization, member }) =>
      call("PUT", `/v1/organizations/${organization}/members/${member}`, { roles: ["ORG_USER_MANAGER"] }),
  },
  {
    ...{ name: "RemoveMember", writes: "members delete" },
    make: (call, { organization, member }) => call("DELETE", `/v1/organizations/${organization}/members/${member}`),
  },
  {
    ...{ name: "DeleteApplication", writes: "applications delete" },
    make: (call, { project, application }) => call("DELETE", `/v1/projects/${project}/applications/${application}`),
  },
  {
    ...{ name: "RemoveProjectRole", writes: "project_roles delete" },
    make: (call, { project, role }) => call("DELETE", `/v1/projects/${project}/roles/${role}`),
  },
  {
    ...{ name: "DeleteProject", writes: "projects delete" },
    make: (call, { plan }) => call("DELETE", `/v1/projects/${plan}`),
  },
  {
    ...{ name: "DeleteUser", writes: "users delete" },
    make: (call, { user }) => call("DELETE", `/v1/users/${user}`),
  },
];
