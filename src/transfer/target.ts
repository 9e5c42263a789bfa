import type { Clients } from "./client.ts";
import type { Projects } from "./projects.ts";
import type { Users } from "./users.ts";

/** The service to import into, with the projects and users created or found so far. */
export type Target = { readonly clients: Clients; readonly projects: Projects; readonly users: Users };
