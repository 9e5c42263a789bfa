import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { type Access, access } from "../../../../../gen/postern/v1/options_pb.ts";

/** Who may call an rpc, and which headers mean something to it. */
export type AccessFacts = {
  readonly option: Access;
  /** Whether anybody may call it. */
  readonly open: boolean;
  readonly permission: string | undefined;
  /** Who may call it, in one or more sentences. */
  readonly sentence: string;
  readonly keyed: boolean;
};

/** Reads the access option of an rpc. */
export function accessFacts(method: DescMethod): AccessFacts {
  const option = getOption(method, access);
  const open = option.who.case === "anyone";
  const reads = method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  return {
    option,
    open,
    permission: option.who.case === "permission" ? option.who.value : undefined,
    sentence: sentence(method, option),
    keyed: method.methodKind === "unary" && !reads && !open,
  };
}

function sentence(method: DescMethod, option: Access): string {
  const json = (name: string) => `\`${method.input.fields.find((field) => field.name === name)?.jsonName ?? name}\``;
  const either = (names: readonly string[]) => names.map(json).join(" or ");
  switch (option.who.case) {
    case "anyone":
      return "Anyone may call it.";
    case "signedIn":
      return "Every caller who is signed in may call it.";
    case "permission": {
      const unless = option.selfUnless.length > 0 ? ` unless ${either(option.selfUnless)} is set` : "";
      const when = option.coversUserWhen.length > 0 ? ` when ${either(option.coversUserWhen)} is set` : "";
      return [
        `Needs the permission \`${option.who.value}\` ${place(option)}.`,
        ...(option.self ? [`A user needs none for itself${unless}.`] : []),
        ...(option.instance ? [`With ${json(option.instance)} it needs \`${option.instancePermission}\`.`] : []),
        ...(option.partial ? ["A role on an object inside suffices; only what the caller may read is shown."] : []),
        ...(option.coversUser ? [`The caller must hold every permission of that user${when}.`] : []),
        ...(option.coversRoles ? [`The caller must hold every permission of the ${json(option.coversRoles)}.`] : []),
      ].join(" ");
    }
    case undefined:
      return "";
  }
}

function place(option: Access): string {
  if (option.user) return "in the organization of the user";
  return option.organization ? "in the organization worked in" : "on the instance";
}
