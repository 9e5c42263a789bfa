import { accessTokenFolds } from "./access_token.ts";

/** Personal access tokens; their rpcs are of the account and of users. */
export const accessTokens = { folds: { accessToken: accessTokenFolds } };
