export { default as EventsPage } from "../events/page.tsx";
export { default as RolesPage } from "../roles/page.tsx";
export { default as HomePage } from "./page.tsx";
