import { UserExportService } from "../../../gen/postern/v1/user_export_pb.ts";
import type { Deps } from "../../deps.ts";
import { serving } from "../module.ts";
import { userExportRules, userExportService } from "./user_export.ts";

type Parts = { readonly deps: Deps };

export const userExports = {
  serves: [serving(UserExportService, ({ deps }: Parts) => userExportService(deps))],
  rules: () => userExportRules,
};
