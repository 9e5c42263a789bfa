import type { Deps } from "../../deps.ts";
import { nameService } from "./name.ts";

type Parts = { readonly deps: Deps };

/** The names of objects of any kind. */
export const names = {
  serves: { NameService: ({ deps }: Parts) => nameService(deps) },
};
