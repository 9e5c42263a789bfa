import type { Deps } from "../../deps.ts";
import { sessionFolds, sessionRules, sessionService } from "./session.ts";
import { sessionChores } from "./session_chores.ts";
import type { SignIns } from "./sign_in.ts";

type Parts = { readonly deps: Deps; readonly signIns: SignIns };
type Settings = Omit<Parameters<typeof sessionService>[1], keyof SignIns>;

export const sessions = {
  serves: {
    SessionService: ({ deps, signIns }: Parts, settings: Settings) => sessionService(deps, { ...settings, ...signIns }),
  },
  folds: { session: sessionFolds },
  rules: () => sessionRules,
  chores: ({ deps }: Parts) => sessionChores(deps),
};
