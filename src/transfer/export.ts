import { once } from "node:events";
import type { Writable } from "node:stream";
import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { TimestampSchema, timestampDate } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import {
  type ApiConfiguration,
  ApiConfigurationSchema,
  OidcConfigurationSchema,
} from "../../gen/postern/v1/application_pb.ts";
import type { MetadataEntry } from "../../gen/postern/v1/metadata_pb.ts";
import type { Project } from "../../gen/postern/v1/project_pb.ts";
import { UserRecordSchema } from "../../gen/postern/v1/user_export_pb.ts";
import { PostalAddressSchema, type User, UserState } from "../../gen/postern/v1/user_pb.ts";
import type { Config } from "../config/config.ts";
import { ConfigError } from "../config/setting.ts";
import { type Clients, openClients, type TransferOptions } from "./client.ts";

const pageSize = 1000;

/**
 * Exports an organization as lines for an import: users, projects with their roles, applications, and user grants. Secrets are never
 * exported: no passwords, no client secrets, and no hashes of either.
 */
export const exportTo = (out: Writable, config: Config, options: TransferOptions): Promise<void> =>
  within(config, options, async (clients) => {
    for await (const item of itemsOf(clients)) await write(out, `${JSON.stringify(item)}\n`);
  });

/** Exports everything that is stored about a user, as one JSON document with one record per line. */
export const exportUserTo = (out: Writable, config: Config, { userId, ...options }: TransferOptions & OfUser) =>
  within(config, options, async (clients) => {
    let before = `{"userId": ${JSON.stringify(userId)}, "records": [\n`;
    for await (const record of recordsOf(clients, userId)) {
      await write(out, `${before}${JSON.stringify(record)}`);
      before = ",\n";
    }
    await write(out, "\n]}\n");
  });

type OfUser = { readonly userId: string };

async function within(config: Config, options: TransferOptions, work: (clients: Clients) => Promise<void>) {
  try {
    using clients = await openClients(config, options);
    await work(clients);
  } catch (error) {
    if (error instanceof ConnectError) throw new ConfigError(`The export ended: ${error.message}`);
    throw error;
  }
}

async function write(out: Writable, text: string): Promise<void> {
  if (!out.write(text)) await once(out, "drain");
}

async function* recordsOf({ exports }: Clients, userId: string): AsyncGenerator<JsonValue> {
  for await (const { records } of pages((page) => exports.exportUser({ userId, ...page })))
    for (const record of records) yield toJson(UserRecordSchema, record, { alwaysEmitImplicit: true });
}

async function* itemsOf(clients: Clients): AsyncGenerator<JsonObject> {
  yield* usersOf(clients);
  const names = new Map<string, string>();
  for await (const { project, items } of readAhead(projectsOf(clients), (one) => itemsOfProject(clients, one))) {
    names.set(project.id, project.name);
    yield* items;
  }
  yield* grantsOf(clients, names);
}

type ProjectItems = { readonly project: Project; readonly items: readonly JsonObject[] };

async function itemsOfProject(clients: Clients, project: Project): Promise<ProjectItems> {
  const { id, name } = project;
  const [roles, applications] = await Promise.all([rolesOf(clients, id), applicationsOf(clients, project)]);
  const grantRequired = project.grantRequired ? { grantRequired: true } : {};
  return { project, items: [{ project: { name, ...grantRequired, roles } }, ...applications] };
}

// Each project takes two calls; sequentially, they would take longer than everything else together.
const mostAhead = 8;

/** Reads ahead the parts of the next objects while the first is being processed; yields results in order. */
async function* readAhead<T, R>(things: AsyncIterable<T>, read: (thing: T) => Promise<R>): AsyncGenerator<R> {
  const ahead: Promise<R>[] = [];
  for await (const thing of things) {
    const reading = read(thing);
    // A failure is thrown when its turn comes.
    reading.catch(() => {});
    ahead.push(reading);
    const first = ahead.length > mostAhead ? ahead.shift() : undefined;
    if (first) yield await first;
  }
  for (const reading of ahead) yield await reading;
}

async function* projectsOf({ projects }: Clients): AsyncGenerator<Project> {
  for await (const { projects: some } of pages((page) => projects.listProjects(page))) yield* some;
}

async function rolesOf({ projects }: Clients, projectId: string): Promise<JsonObject[]> {
  const all: JsonObject[] = [];
  for await (const { roles } of pages((page) => projects.listProjectRoles({ projectId, ...page })))
    all.push(...roles.map(({ key, displayName }) => ({ key, displayName })));
  return all;
}

async function applicationsOf({ applications }: Clients, project: Project): Promise<JsonObject[]> {
  const all: JsonObject[] = [];
  const list = (page: PageRequest) => applications.listApplications({ projectId: project.id, ...page });
  for await (const { applications: some } of pages(list)) {
    for (const { name, clientId, oidc, api, bringsDocument } of some) {
      // Clients bring the document themselves wherever they are used.
      if (bringsDocument) continue;
      const named = { project: project.name, name, clientId };
      if (api) all.push({ apiApplication: { ...named, ...apiOf(api) } });
      else
        all.push({ application: { ...named, ...(oidc ? (toJson(OidcConfigurationSchema, oidc) as JsonObject) : {}) } });
    }
  }
  return all;
}

/** An API's configuration in the form of a request to create it: after an import, the URIs have to be given anew. */
function apiOf(api: ApiConfiguration): JsonObject {
  const { givenResourceUris, accessTokenAlgorithm, ...rest } = toJson(ApiConfigurationSchema, api) as JsonObject;
  return { ...rest, accessTokenAlgorithm: accessTokenAlgorithm ?? "ACCESS_TOKEN_ALGORITHM_RS256" };
}

async function* usersOf({ users }: Clients): AsyncGenerator<JsonObject> {
  for await (const page of pages((page) => users.listUsers({ ...page, includeMetadata: true }))) {
    const metadata = new Map(page.metadata.map(({ userId, entries }) => [userId, entries]));
    for (const user of page.users)
      yield {
        ...lineOf(user, metadata.get(user.id) ?? []),
        ...(user.state === UserState.INACTIVE ? { inactive: true } : {}),
      };
  }
}

function lineOf({ id: userId, username, kind }: User, entries: readonly MetadataEntry[]): JsonObject {
  const metadata =
    entries.length > 0
      ? { metadata: entries.map(({ key, value = "", shared }) => ({ key, value, ...(shared ? { shared } : {}) })) }
      : {};
  if (kind.case !== "human") return { machine: { userId, username, name: kind.value?.name ?? "", ...metadata } };
  const { givenName, familyName, email, emailVerified, requiresFactor, phone, address, language } = kind.value;
  const more = {
    ...(emailVerified ? { isEmailVerified: true } : {}),
    ...(requiresFactor ? { requiresFactor: true } : {}),
    ...(phone ? { phone } : {}),
    ...(language ? { language } : {}),
    ...(address ? { address: toJson(PostalAddressSchema, address) as JsonObject } : {}),
  };
  return { human: { userId, username, givenName, familyName, email, ...more, ...metadata } };
}

/** A grant in one of the organization's projects names the project; one in another organization's project has its ids. */
async function* grantsOf({ grants }: Clients, names: ReadonlyMap<string, string>): AsyncGenerator<JsonObject> {
  for await (const { userGrants } of pages((page) => grants.listUserGrants(page))) {
    for (const { userId, projectId, projectGrantId, roleKeys, expirationDate } of userGrants) {
      // A grant that has ended gives nothing, and an import would refuse it.
      if (expirationDate && timestampDate(expirationDate) <= new Date()) continue;
      const project = names.get(projectId);
      const place =
        projectGrantId || project === undefined
          ? { projectId, ...(projectGrantId ? { projectGrantId } : {}) }
          : { project };
      const end = expirationDate ? { expirationDate: toJson(TimestampSchema, expirationDate) } : {};
      yield { grant: { userId, ...place, roleKeys, ...end } };
    }
  }
}

type PageRequest = { readonly pageSize: number; readonly pageToken: string };

async function* pages<P extends { readonly nextPageToken: string }>(
  list: (page: PageRequest) => Promise<P>,
): AsyncGenerator<P> {
  for (let pageToken = ""; ; ) {
    const page = await list({ pageSize, pageToken });
    yield page;
    pageToken = page.nextPageToken;
    if (pageToken === "") return;
  }
}
