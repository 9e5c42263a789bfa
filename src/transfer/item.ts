import { create, fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import {
  type AddApplicationKeyRequest,
  AddApplicationKeyRequestSchema,
  type CreateApiApplicationRequest,
  CreateApiApplicationRequestSchema,
  type CreateOidcApplicationRequest,
  CreateOidcApplicationRequestSchema,
} from "../../gen/postern/v1/application_pb.ts";
import type { MetadataEntry } from "../../gen/postern/v1/metadata_pb.ts";
import { type AddUserGrantRequest, AddUserGrantRequestSchema } from "../../gen/postern/v1/user_grant_pb.ts";
import {
  CreateHumanUserRequestSchema,
  CreateMachineUserRequestSchema,
  type CreateUsersItem,
  CreateUsersItemSchema,
  SetUserMetadataRequestSchema,
} from "../../gen/postern/v1/user_pb.ts";
import { userIdFor } from "./user_id.ts";

/** An item to import, ready to be sent. */
export type Item =
  | {
      readonly kind: "user";
      readonly user: CreateUsersItem;
      readonly userId: string;
      readonly inactive: boolean;
      readonly metadata: readonly MetadataEntry[];
    }
  | { readonly kind: "project"; readonly project: NewProject; readonly roles: readonly Role[] }
  | (OfApplication & { readonly kind: "application"; readonly application: CreateOidcApplicationRequest })
  | (OfApplication & { readonly kind: "apiApplication"; readonly application: CreateApiApplicationRequest })
  | {
      readonly kind: "grant";
      readonly project: string;
      /** The username, if the line has that instead of the user's id. */
      readonly username: string | undefined;
      readonly grant: AddUserGrantRequest;
    };

export type ItemKind = Item["kind"];

/** The fields that applications of both kinds have in common: the name of their project, whether they are deactivated, and a public key. */
type OfApplication = {
  readonly project: string;
  readonly inactive: boolean;
  readonly key: AddApplicationKeyRequest | undefined;
};

/** A project to create. */
export type NewProject = { readonly name: string; readonly grantRequired: boolean };

/** A role of a project. */
export type Role = { readonly key: string; readonly displayName: string };

/** A line that is not an item; the message says why. */
export class ItemMalformed extends Error {
  override readonly name = "ItemMalformed";
}

/** The names of items in a line. */
export const itemKinds: readonly string[] = ["human", "machine", "project", "application", "apiApplication", "grant"];

const kinds = "human, machine, project, application, apiApplication or grant";

/** Reads an item from the JSON of a line, or throws `ItemMalformed`. */
export function itemOf(json: unknown, organization: string): Item {
  if (!isObject(json)) throw new ItemMalformed("must be an object");
  const { inactive, ...rest } = json;
  const [first, ...more] = Object.entries(rest);
  if (!first || more.length > 0) throw new ItemMalformed(`must have one of ${kinds}`);
  const [kind, value] = first;
  if (!isObject(value)) throw new ItemMalformed(`${kind} must be an object`);
  if (inactive !== undefined && typeof inactive !== "boolean")
    throw new ItemMalformed("inactive must be true or false");
  switch (kind) {
    case "human":
    case "machine":
      return userOf(kind, inactive === true ? { ...value, inactive } : value, organization);
    case "project":
      return projectOf(value);
    case "application":
      return applicationOf(value, inactive === true);
    case "apiApplication":
      return apiApplicationOf(value, inactive === true);
    case "grant":
      return grantOf(value, organization);
    default:
      throw new ItemMalformed(`must have one of ${kinds}, and not ${JSON.stringify(kind.slice(0, 100))}`);
  }
}

function userOf(kind: "human" | "machine", value: JsonObject, organization: string) {
  const username = text(value, "username").trim();
  const userId = typeof value.userId === "string" ? value.userId : userIdFor(organization, username);
  const { metadata = [], ...rest } = value;
  const asked = { ...rest, userId };
  const request = message(() =>
    kind === "human"
      ? { case: kind, value: fromJson(CreateHumanUserRequestSchema, asked) }
      : { case: kind, value: fromJson(CreateMachineUserRequestSchema, asked) },
  );
  const { inactive } = request.value;
  const { entries } = message(() => fromJson(SetUserMetadataRequestSchema, { userId, entries: metadata }));
  const user = create(CreateUsersItemSchema, { kind: request });
  return { kind: "user", user, userId, inactive, metadata: entries } as const;
}

function projectOf({ name, roles = [], grantRequired = false, ...more }: JsonObject): Item {
  refuseUnknown("project", more);
  if (typeof name !== "string") throw new ItemMalformed("project.name must be a string");
  if (!Array.isArray(roles)) throw new ItemMalformed("project.roles must be a list");
  if (typeof grantRequired !== "boolean") throw new ItemMalformed("project.grantRequired must be true or false");
  return { kind: "project", project: { name: name.trim(), grantRequired }, roles: roles.map(roleOf) };
}

function roleOf(role: JsonValue): Role {
  if (!isObject(role)) throw new ItemMalformed("each of project.roles must be an object");
  const { key, displayName = "", ...more } = role;
  refuseUnknown("project.roles", more);
  if (typeof key !== "string" || typeof displayName !== "string")
    throw new ItemMalformed("each of project.roles must have a key");
  return { key, displayName };
}

function applicationOf({ project, key, ...rest }: JsonObject, inactive: boolean): Item {
  if (typeof project !== "string") throw new ItemMalformed("application.project must be the name of a project");
  const application = message(() => fromJson(CreateOidcApplicationRequestSchema, rest));
  return { kind: "application", project: project.trim(), inactive, key: keyOf(key), application };
}

function apiApplicationOf({ project, key, ...rest }: JsonObject, inactive: boolean): Item {
  if (typeof project !== "string") throw new ItemMalformed("apiApplication.project must be the name of a project");
  const application = message(() => fromJson(CreateApiApplicationRequestSchema, rest));
  return { kind: "apiApplication", project: project.trim(), inactive, key: keyOf(key), application };
}

const keyOf = (key: JsonValue | undefined) =>
  key === undefined ? undefined : message(() => fromJson(AddApplicationKeyRequestSchema, key));

function grantOf({ project = "", username, ...rest }: JsonObject, organization: string): Item {
  if (typeof project !== "string") throw new ItemMalformed("grant.project must be the name of a project");
  const grant = message(() => fromJson(AddUserGrantRequestSchema, rest));
  if (!project && !grant.projectId) throw new ItemMalformed("grant must have project or projectId");
  if (!grant.userId && typeof username !== "string") throw new ItemMalformed("grant must have userId or username");
  const named = grant.userId ? undefined : String(username).trim();
  if (named !== undefined) grant.userId = userIdFor(organization, named);
  return { kind: "grant", project: project.trim(), username: named, grant };
}

function refuseUnknown(place: string, more: JsonObject): void {
  const [name] = Object.keys(more);
  if (name !== undefined) throw new ItemMalformed(`${place} has no field ${JSON.stringify(name.slice(0, 100))}`);
}

function text(value: JsonObject, name: string): string {
  const found = value[name];
  if (typeof found !== "string") throw new ItemMalformed(`${name} must be a string`);
  return found;
}

function message<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new ItemMalformed(error instanceof Error ? error.message.slice(0, 300) : String(error));
  }
}

const isObject = (json: unknown): json is JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json);
