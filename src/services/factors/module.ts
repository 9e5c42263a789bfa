import type { Deps } from "../../deps.ts";
import { factorService } from "./factor.ts";
import { factorChores, resealedFactors } from "./factor_chores.ts";
import { factorFolds } from "./factor_fold.ts";

type Parts = { readonly deps: Deps };
type Settings = Parameters<typeof factorService>[1];

export const factors = {
  serves: { FactorService: ({ deps }: Parts, settings: Settings) => factorService(deps, settings) },
  folds: { factor: factorFolds },
  chores: ({ deps }: Parts) => [...factorChores(deps), resealedFactors(deps)],
};
