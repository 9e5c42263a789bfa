import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { GrpcWebClientBase, MethodDescriptor, MethodType, RpcError, StatusCode } from "grpc-web";
import {
  type AddUserGrantRequest,
  AddUserGrantRequestSchema,
  AddUserGrantResponseSchema,
} from "../../../gen/postern/v1/user_grant_pb.ts";

type ViewerGrant = {
  readonly baseUrl: string;
  readonly token: string;
  readonly userId: string;
  readonly projectId: string;
};

// region README
const addUserGrant = new MethodDescriptor(
  "/postern.v1.UserGrantService/AddUserGrant",
  MethodType.UNARY,
  Object,
  Object,
  (request: AddUserGrantRequest) => toBinary(AddUserGrantRequestSchema, request),
  (bytes: Uint8Array) => fromBinary(AddUserGrantResponseSchema, bytes),
);

/** Gives the user the role; returns false if the user has it already. */
export async function grantViewer({ baseUrl, token, userId, projectId }: ViewerGrant): Promise<boolean> {
  const grants = new GrpcWebClientBase({ format: "text" });
  const request = create(AddUserGrantRequestSchema, { userId, projectId, roleKeys: ["viewer"] });
  const metadata = { authorization: `Bearer ${token}`, deadline: `${Date.now() + 5000}` };
  try {
    await grants.unaryCall(baseUrl + addUserGrant.getName(), request, metadata, addUserGrant);
    return true;
  } catch (error) {
    if (error instanceof RpcError && error.code === StatusCode.ALREADY_EXISTS) return false;
    throw error;
  }
}
// endregion
