import { Agent } from "node:http";
import { Agent as SecureAgent } from "node:https";
import { join } from "node:path";
import { type Client, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { AccountService } from "../../gen/postern/v1/account_pb.ts";
import { ApplicationService } from "../../gen/postern/v1/application_pb.ts";
import { ProjectService } from "../../gen/postern/v1/project_pb.ts";
import { UserExportService } from "../../gen/postern/v1/user_export_pb.ts";
import { UserGrantService } from "../../gen/postern/v1/user_grant_pb.ts";
import { UserService } from "../../gen/postern/v1/user_pb.ts";
import type { Config } from "../config/config.ts";
import { localUrl } from "../config/local_address.ts";
import { readSecret } from "../config/secret_file.ts";
import { ConfigError } from "../config/setting.ts";
import { retried } from "./retry.ts";

/** The target of a transfer: options of the command, which default to the settings. */
export type TransferOptions = {
  /** The service; by default, the one with these settings on this machine. */
  readonly url?: string | undefined;
  /** The file with an access token; by default, the first administrator's. */
  readonly tokenFile?: string | undefined;
  /** The organization; by default, the caller's own. */
  readonly organization?: string | undefined;
};

/** The clients for one organization, over kept-alive connections. */
export type Clients = Disposable & {
  readonly organization: string;
  readonly users: Client<typeof UserService>;
  readonly projects: Client<typeof ProjectService>;
  readonly applications: Client<typeof ApplicationService>;
  readonly grants: Client<typeof UserGrantService>;
  readonly exports: Client<typeof UserExportService>;
};

/** Connects to the service, and finds out which organization to work in. */
export async function openClients(
  config: Config,
  { url = localUrl(config), tokenFile, organization }: TransferOptions,
): Promise<Clients> {
  const token = await tokenOf(config, tokenFile);
  if (!URL.canParse(url) || !/^https?:\/\//.test(url))
    throw new ConfigError(`--url must be an http or https URL, not ${url}`);
  // HTTP/1.1 passes through every proxy, HTTP/2 without TLS through few.
  const agent = new (url.startsWith("https:") ? SecureAgent : Agent)({ keepAlive: true });
  const authorize: Interceptor = (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    if (organization) request.header.set("x-service-orgid", organization);
    return next(request);
  };
  const interceptors = [retried, authorize];
  const transport = createConnectTransport({ baseUrl: url, httpVersion: "1.1", nodeOptions: { agent }, interceptors });
  const of = organization ?? (await createClient(AccountService, transport).getMe({})).organization?.id;
  if (!of) throw new ConfigError("the user of the token has no organization: choose one with --organization");
  return {
    organization: of,
    users: createClient(UserService, transport),
    projects: createClient(ProjectService, transport),
    applications: createClient(ApplicationService, transport),
    grants: createClient(UserGrantService, transport),
    exports: createClient(UserExportService, transport),
    [Symbol.dispose]: () => agent.destroy(),
  };
}

async function tokenOf({ adminToken, dataDir }: Config, tokenFile: string | undefined): Promise<string> {
  const file = tokenFile ?? join(dataDir, "admin-token");
  const token = tokenFile === undefined && adminToken ? adminToken : await readSecret(file);
  if (token) return token;
  throw new ConfigError(
    `There is no token in ${file}: pass a file with a token as --token-file, or set POSTERN_ADMIN_TOKEN`,
  );
}
