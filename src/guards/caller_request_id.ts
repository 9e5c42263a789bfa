import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { authzen } from "../../gen/postern/v1/options_pb.ts";
import { type Call, keys } from "../deps.ts";

/** Keeps the caller's own id of a request, for rpcs whose response repeats it; one that no header could repeat is not kept. */
export function keepCallerRequestId(method: DescMethod, { requestHeader, values }: Call): void {
  const named = getOption(method, authzen) ? requestHeader.get("x-request-id") : null;
  if (named !== null && isRepeatable(named)) values.set(keys.callerRequestId, named);
}

const isRepeatable = (text: string): boolean => /^[\x20-\x7e]{1,200}$/.test(text);
