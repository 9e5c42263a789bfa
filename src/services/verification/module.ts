import type { Deps } from "../../deps.ts";
import { codeChores, type WindowSettings } from "./code_chores.ts";

/** Codes that prove a phone number or an address; their rpcs are of what they prove. */
export const verification = {
  chores: ({ deps }: { readonly deps: Deps }, settings: WindowSettings) => codeChores(deps, settings),
};
