import { create, type DescMethod, type DescService, setExtension } from "@bufbuild/protobuf";
import { MethodOptionsSchema } from "@bufbuild/protobuf/wkt";
import { AccessSchema, access, message_bytes } from "../../gen/postern/v1/options_pb.ts";
import { type SampleRpc, sampleService } from "../../packages/gateway/test/sample_service.ts";

/** The options of an rpc of the sample. */
export type SampleContract = {
  readonly rule?: SampleRpc["rule"];
  /** The access option; null leaves it out. */
  readonly who?: "anyone" | "signedIn" | null;
  /** Whether the contract states how large a message may be, which its rules leave open. */
  readonly isSized?: boolean;
};

/** A service with one rpc whose name is Do. */
export function contractOf({ who = "signedIn", isSized = true, rule }: SampleContract): DescService {
  const options = create(MethodOptionsSchema);
  if (who) setExtension(options, access, create(AccessSchema, { who: { case: who, value: true } }));
  if (isSized) setExtension(options, message_bytes, 4_194_304);
  return sampleService([{ name: "Do", options, ...(rule && { rule }) }]);
}

/** The one rpc of that service. */
export function rpcOf(contract: SampleContract): DescMethod {
  const [method] = contractOf(contract).methods;
  if (!method) throw new Error("the sample has no method");
  return method;
}
