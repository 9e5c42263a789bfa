// Private functions of connect-es, which may change in any release, so its version is pinned exactly and only this file imports them.
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
