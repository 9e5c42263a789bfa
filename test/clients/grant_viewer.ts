import { ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { UserGrantService } from "../../gen/postern/v1/user_grant_pb.ts";

type ViewerGrant = {
  readonly baseUrl: string;
  readonly token: string;
  readonly userId: string;
  readonly projectId: string;
};

// region README
/** Gives the user the role; returns false if the user has it already. */
export async function grantViewer({ baseUrl, token, userId, projectId }: ViewerGrant): Promise<boolean> {
  const grants = createClient(UserGrantService, createGrpcTransport({ baseUrl }));
  const options = { headers: { authorization: `Bearer ${token}` }, timeoutMs: 5000 };
  try {
    await grants.addUserGrant({ userId, projectId, roleKeys: ["viewer"] }, options);
    return true;
  } catch (error) {
    const [info] = ConnectError.from(error).findDetails(ErrorInfoSchema);
    if (info?.reason === "USER_GRANT_EXISTS") return false;
    throw error;
  }
}
// endregion
