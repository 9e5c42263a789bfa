import { NameService } from "../../../gen/postern/v1/name_pb.ts";
import type { Deps } from "../../deps.ts";
import { serving } from "../module.ts";
import { nameService } from "./name.ts";

type Parts = { readonly deps: Deps };

/** The names of objects of any kind. */
export const names = {
  serves: [serving(NameService, ({ deps }: Parts) => nameService(deps))],
};
