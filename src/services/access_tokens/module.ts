import type { Deps } from "../../deps.ts";
import { accessTokenFolds, accessTokenRules, userAccessTokens } from "./access_token.ts";

type Parts = { readonly deps: Deps };

/** Personal access tokens. */
export const accessTokens = {
  serves: { UserService: ({ deps }: Parts) => userAccessTokens(deps) },
  folds: { accessToken: accessTokenFolds },
  rules: accessTokenRules,
};
