import { createRequire } from "node:module";

// The maximal metadata knows the ranges of each kind of number; the minimal one accepts any number of a possible length.
type Numbering = typeof import("libphonenumber-js/max");

const require = createRequire(import.meta.url);

/** The numbering plans of all regions, loaded with the first number: ninety modules, which take 3 MB and 20 ms. */
export const phonePlans = (): Numbering => require("libphonenumber-js/max");
