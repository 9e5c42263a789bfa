import { create, type DescField, type DescMessage, type DescMethod, type Message } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { type FieldMask, FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { httpRulesOf } from "@postern/gateway";

/**
 * Completes the mask of an update: if absent, it names the populated fields, and it lists fields in the order of the contract. So an update
 * repeated over another protocol is the same request, and its idempotency key gets the first response.
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

/** Whether masks can name fields inside this field, as with messages of our own. */
const isEntered = (field: DescField): field is DescField & { readonly message: DescMessage } =>
  field.fieldKind === "message" && field.message.typeName.startsWith("postern.");

/** An update's paths in the order of the contract; those into a message follow the message's own. */
const pathsOf = ({ fields }: DescMessage): string[] =>
  fields.flatMap((field) =>
    isEntered(field) ? [field.name, ...pathsOf(field.message).map((path) => `${field.name}.${path}`)] : [field.name],
  );

/** The paths of populated fields, including those inside messages; an empty message is named as a whole. */
function populatedPaths(message: ReflectMessage): string[] {
  return message.fields.flatMap((field) => {
    if (!message.isSet(field)) return [];
    const inner = isEntered(field) ? populatedPaths(message.get(field) as ReflectMessage) : [];
    return inner.length === 0 ? [field.name] : inner.map((path) => `${field.name}.${path}`);
  });
}
