export { default as UsersPage } from "../users/page.tsx";
export { default as UserPage } from "./page.tsx";
