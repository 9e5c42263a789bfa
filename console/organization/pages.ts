export { default as InstancePage } from "../instance/page.tsx";
export { default as OrganizationsPage } from "../organizations/page.tsx";
export { default as OrganizationPage } from "./page.tsx";
