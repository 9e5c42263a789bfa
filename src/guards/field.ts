import type { DescMessage, Message } from "@bufbuild/protobuf";

/** Makes a reader of the field that an access option names, at start, so that a wrong name prevents the start. */
export function fieldOf(input: DescMessage, name: string): (request: Message) => unknown {
  const field = input.fields.find((one) => one.name === name);
  if (!field) throw new Error(`${input.typeName} has no field ${name}, which its access option names`);
  return (request) => (request as Message & Record<string, unknown>)[field.localName];
}

/** Makes a reader of a text field, which reads other types as an empty text. */
export function textOf(input: DescMessage, name: string): (request: Message) => string {
  const read = fieldOf(input, name);
  return (request) => {
    const value = read(request);
    return typeof value === "string" ? value : "";
  };
}
