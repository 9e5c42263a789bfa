import type { Deps } from "../../deps.ts";
import { userExportRules, userExportService } from "./user_export.ts";

type Parts = { readonly deps: Deps };

export const userExports = {
  serves: { UserExportService: ({ deps }: Parts) => userExportService(deps) },
  rules: () => userExportRules,
};
