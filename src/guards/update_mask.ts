import { create, type DescField, type DescMessage, type DescMethod, type Message } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
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
    const named =
      paths.size === 0 ? populatedPaths(reflect(type, sent)) : pathsOf(type).filter((one) => paths.has(one));
    // Any other path is refused by name, or stands for all fields.
    if (named.length === 0 || named.length < paths.size) return;
    update.updateMask = create(FieldMaskSchema, { paths: named });
  };
}

/** Whether updates go into a field: it is a message of ours. */
const isEntered = (field: DescField): field is DescField & { readonly message: DescMessage } =>
  field.fieldKind === "message" && field.message.typeName.startsWith("postern.");

/** The paths of an update in the order of the contract, those into its messages after that of the whole. */
const pathsOf = ({ fields }: DescMessage): string[] =>
  fields.flatMap((field) =>
    isEntered(field) ? [field.name, ...pathsOf(field.message).map((path) => `${field.name}.${path}`)] : [field.name],
  );

/** The paths of what is populated, into messages; one that is empty is named as a whole. */
function populatedPaths(message: ReflectMessage): string[] {
  return message.fields.flatMap((field) => {
    if (!message.isSet(field)) return [];
    const inner = isEntered(field) ? populatedPaths(message.get(field) as ReflectMessage) : [];
    return inner.length === 0 ? [field.name] : inner.map((path) => `${field.name}.${path}`);
  });
}
