export { default as ProjectsPage } from "../projects/page.tsx";
export { default as ProjectPage } from "./page.tsx";
