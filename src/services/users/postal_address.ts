import { fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import { type PostalAddress, PostalAddressSchema } from "../../../gen/postern/v1/user_pb.ts";

/** A postal address as its column holds it: an object of the fields that are set, or null. */
export type AddressColumn = JsonObject | null;

export const addressShown = (address: AddressColumn): { address?: PostalAddress } =>
  address === null ? {} : { address: fromJson(PostalAddressSchema, address, { ignoreUnknownFields: true }) };

/** The fields of an address that are set; null if none is. */
export function addressOf(address: PostalAddress | undefined): AddressColumn {
  const fields = address ? (toJson(PostalAddressSchema, address) as JsonObject) : {};
  return Object.keys(fields).length === 0 ? null : fields;
}

/** The address after an update: the new one if the mask names it as a whole, otherwise with just the named fields changed. */
export function addressAfter(
  before: AddressColumn,
  sent: PostalAddress | undefined,
  paths: readonly string[],
): AddressColumn {
  if (paths.some((path) => path === "address" || path === "*")) return addressOf(sent);
  const [fields, named] = [addressOf(sent) ?? {}, paths.flatMap(fieldIn)];
  const kept = Object.entries(before ?? {}).filter(([name]) => !named.includes(name));
  const changed = Object.entries(fields).filter(([name]) => named.includes(name));
  return kept.length + changed.length === 0 ? null : Object.fromEntries([...kept, ...changed]);
}

function fieldIn(path: string): string[] {
  const [head, name] = path.split(".");
  const field = PostalAddressSchema.fields.find((one) => one.name === name || one.jsonName === name);
  return head === "address" && field ? [field.jsonName] : [];
}

export const isSameAddress = (one: AddressColumn, other: AddressColumn): boolean =>
  JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));

const sorted = (address: AddressColumn) => Object.entries(address ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));

/** SQL for the address in a fact, without empty fields; null if all are empty. */
export const addressInFact = `(
  select jsonb_object_agg(field.key, field.value) from jsonb_each_text(f.payload->'address') field where field.value <> '')`;
