import { accessTokenFolds } from "./access_token.ts";

/** Personal access tokens; their rpcs belong to the account and to users. */
export const accessTokens = { folds: { accessToken: accessTokenFolds } };
