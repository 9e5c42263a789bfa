import type { GetUserResponseJson, UserJson } from "../../gen/postern/v1/user_pb.ts";
import type { Reading } from "../calls/use_call.ts";

/** What a part of a user's page is given. */
export type UserPart = { readonly user: UserJson; readonly reading: Reading<GetUserResponseJson> };
