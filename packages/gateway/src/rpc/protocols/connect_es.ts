// What connect-es keeps for itself, which may change with any release: so its version is pinned exactly, and this file is the
// only one that imports it.
export {
  codeFromHttpStatus,
  codeFromString,
  codeToHttpStatus,
  codeToString,
  errorToJson,
  parseContentType as parseConnectContentType,
  parseTimeout as parseConnectTimeout,
} from "@connectrpc/connect/protocol-connect";
export {
  parseContentType as parseGrpcContentType,
  parseTimeout as parseGrpcTimeout,
} from "@connectrpc/connect/protocol-grpc";
export { parseContentType as parseGrpcWebContentType } from "@connectrpc/connect/protocol-grpc-web";
