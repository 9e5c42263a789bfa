import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { type FieldMask, FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { httpRulesOf } from "@postern/gateway";

/**
 * Completes the mask of an update: without one, it names the populated fields, and it names fields in the order of the contract.
 * So an update that is repeated through another door is the same request, and its idempotency key gets the first answer.
 */
export function completeMask(method: DescMethod): (request: Message) => void {
  const body = httpRulesOf(method)[0]?.body;
  const content = method.input.fields.find(({ name }) => name === body);
  const mask = method.input.field.updateMask;
  if (content?.fieldKind !== "message" || mask?.message?.typeName !== FieldMaskSchema.typeName) return () => {};
  const { message: type, localName } = content;
  return (request) => {
    const update = request as Message & { updateMask?: FieldMask } & { readonly [name: string]: unknown };
    const sent = update[localName] as Message | undefined;
    if (sent === undefined) return;
    const paths = new Set(update.updateMask?.paths);
    const populated = reflect(type, sent);
    const named = type.fields.filter((field) => (paths.size === 0 ? populated.isSet(field) : paths.has(field.name)));
    // Any other path is refused by name, or stands for all fields.
    if (named.length === 0 || named.length < paths.size) return;
    update.updateMask = create(FieldMaskSchema, { paths: named.map(({ name }) => name) });
  };
}
