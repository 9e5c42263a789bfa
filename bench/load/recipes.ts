import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { ChangePasswordRequestSchema } from "../../gen/postern/v1/account_pb.ts";
import { CreateOidcApplicationRequestSchema } from "../../gen/postern/v1/application_pb.ts";
import { AddUserGrantRequestSchema, ListUserGrantsRequestSchema } from "../../gen/postern/v1/user_grant_pb.ts";
import { ChangePhoneRequestSchema, GetUserRequestSchema } from "../../gen/postern/v1/user_pb.ts";
import { idOf, role } from "../seed.ts";

/** How a call is made from its number. */
export type Recipe =
  | { readonly kind: "add_user_grant"; readonly users: number }
  | { readonly kind: "change_phone"; readonly users: number }
  | { readonly kind: "create_application" }
  | { readonly kind: "get_me" }
  | { readonly kind: "get_user"; readonly users: number }
  | { readonly kind: "list_user_grants"; readonly project: number; readonly pageToken: string }
  | { readonly kind: "change_password"; readonly passwords: readonly [string, string] };

/** A call in the formats of gRPC and REST. */
export type Request = {
  readonly method: string;
  readonly path: string;
  readonly rpc: string;
  readonly body: object | undefined;
  readonly message: () => Uint8Array;
};

/** Makes the call with this number. */
export function requestOf(recipe: Recipe, n: number): Request {
  switch (recipe.kind) {
    case "add_user_grant":
      return addUserGrant(scattered(n, recipe.users), Math.floor(n / recipe.users));
    case "change_phone":
      return changePhone(n % recipe.users, n);
    case "create_application":
      return createApplication(n);
    case "get_me":
      return { ...get("/v1/users/me", "AccountService/GetMe"), message: () => new Uint8Array(0) };
    case "get_user": {
      const userId = idOf("user", scattered(n, recipe.users));
      const message = () => bytes(GetUserRequestSchema, { userId });
      return { ...get(`/v1/users/${userId}`, "UserService/GetUser"), message };
    }
    case "list_user_grants":
      return listUserGrants(recipe);
    case "change_password":
      return changePassword(recipe.passwords, n);
  }
}

const stride = 7919;

/** Which user the call with this number is about: each once, and none beside the one before. */
export const scattered = (n: number, users: number): number => (n * stride) % users;

/** The same in SQL, of an expression that yields the number. */
export const scatteredSql = (n: string, users: number): string => `(${n})::bigint * ${stride} % ${users}`;

function addUserGrant(user: number, project: number): Request {
  const userId = idOf("user", user);
  const body = { projectId: idOf("project", project), roleKeys: [role] };
  const message = () => bytes(AddUserGrantRequestSchema, { userId, ...body });
  return { ...post(`/v1/users/${userId}/grants`, "UserGrantService/AddUserGrant"), body, message };
}

/** The phone that the call with this number sets. */
export const phoneOf = (n: number): string => `+49151${20_000_000 + n}`;

function changePhone(user: number, n: number): Request {
  const userId = idOf("user", user);
  const phone = phoneOf(n);
  const message = () => bytes(ChangePhoneRequestSchema, { userId, phone, returnCode: {} });
  return { ...post(`/v1/users/${userId}/phone`, "UserService/ChangePhone"), body: { phone, returnCode: {} }, message };
}

function createApplication(n: number): Request {
  const projectId = idOf("project", 0);
  const body = { name: `Application ${n}`, redirectUris: ["https://example.com/callback"] };
  const message = () => bytes(CreateOidcApplicationRequestSchema, { projectId, ...body });
  const path = `/v1/projects/${projectId}/applications/oidc`;
  return { ...post(path, "ApplicationService/CreateOidcApplication"), body, message };
}

function listUserGrants({ project, pageToken }: Extract<Recipe, { kind: "list_user_grants" }>): Request {
  const projectId = idOf("project", project);
  const path = `/v1/projects/${projectId}/user-grants?pageSize=50${pageToken && `&pageToken=${pageToken}`}`;
  const message = () => bytes(ListUserGrantsRequestSchema, { projectId, pageSize: 50, pageToken });
  return { ...get(path, "UserGrantService/ListUserGrants"), message };
}

function changePassword([one, other]: readonly [string, string], n: number): Request {
  const [oldPassword, newPassword] = n % 2 === 0 ? [one, other] : [other, one];
  const body = { oldPassword, newPassword };
  const message = () => bytes(ChangePasswordRequestSchema, body);
  return { ...post("/v1/users/me/password", "AccountService/ChangePassword"), method: "PUT", body, message };
}

const get = (path: string, rpc: string) => ({ method: "GET", path, rpc: `/postern.v1.${rpc}`, body: undefined });
const post = (path: string, rpc: string) => ({ method: "POST", path, rpc: `/postern.v1.${rpc}` });

const bytes = <T extends DescMessage>(schema: T, init: MessageInitShape<T>) => toBinary(schema, create(schema, init));
