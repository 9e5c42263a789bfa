import type { DescMethod } from "@bufbuild/protobuf";
import { services } from "../../src/runtime/modules.ts";

/** Every rpc of ours. */
export const methods: readonly DescMethod[] = services.flatMap((service) => service.methods);

/** An rpc as `Service.Rpc`. */
export const nameOf = (method: DescMethod) => `${method.parent.name}.${method.name}`;
