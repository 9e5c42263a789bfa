import { fileURLToPath } from "node:url";

/** The program that tests start as a process of its own: the bundle, as people get it, in runs that start hundreds; else its sources. */
export const program = process.env.TEST_PROGRAM ?? fileURLToPath(new URL("../src/main.ts", import.meta.url));
