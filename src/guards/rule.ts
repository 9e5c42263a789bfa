import type { DescMethod } from "@bufbuild/protobuf";
import type { Access } from "../../gen/postern/v1/options_pb.ts";
import type { Lookups } from "./held_permissions.ts";
import type { Permission } from "./permissions.ts";

/** The access rule of one rpc, with the lookups that it needs. */
export type Rule = {
  readonly method: DescMethod;
  readonly option: Access;
  readonly permission: Permission;
  readonly lookups: Lookups;
};
