import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { authzen } from "../../gen/postern/v1/options_pb.ts";
import { type Call, keys } from "../deps.ts";

/** Keeps the caller's own request id for rpcs whose response repeats it, if a header can hold it. */
export function keepCallerRequestId(method: DescMethod, { requestHeader, values }: Call): void {
  const named = isRepeated(method) ? requestHeader.get("x-request-id") : null;
  if (named !== null && isRepeatable(named)) values.set(keys.callerRequestId, named);
}

// Reading an option uses reflection, which costs as much as a whole call.
const known = new WeakMap<DescMethod, boolean>();

function isRepeated(method: DescMethod): boolean {
  const found = known.get(method);
  if (found !== undefined) return found;
  const option = getOption(method, authzen);
  known.set(method, option);
  return option;
}

const isRepeatable = (text: string): boolean => /^[\x20-\x7e]{1,200}$/.test(text);
