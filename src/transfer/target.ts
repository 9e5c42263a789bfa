import type { Clients } from "./client.ts";
import type { Projects } from "./projects.ts";
import type { Users } from "./users.ts";

/** The service that an import goes to, with the projects and users that it has made or found. */
export type Target = { readonly clients: Clients; readonly projects: Projects; readonly users: Users };
