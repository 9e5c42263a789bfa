export { default as NewApplicationPage } from "./new_page.tsx";
export { default as ApplicationPage } from "./page.tsx";
