import { create } from "@bufbuild/protobuf";
import {
  OidcAppType,
  OidcAuthMethodType,
  type OidcConfiguration,
  OidcConfigurationSchema,
  OidcGrantType,
  OidcResponseType,
} from "../../../gen/postern/v1/application_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { factOf, first } from "../../events/fact.ts";
import type { Cascade, Condition, NounFolds } from "../../events/fold.ts";
import { lostRace } from "../../events/log.ts";
import type { RequestProblem } from "../../messages/request_problem.ts";
import { historyInFact, inFact } from "../reading/row.ts";
import { applicationInserted } from "./application_row.ts";

/** A client that brings its own document, and the project of the API that it wants tokens for. */
export type DocumentClient = { readonly owner: string; readonly projectId: string; readonly clientId: string };

/** The maximum number of clients with a document in a project, not counting those that no user allows any more. */
const mostDocuments = 1_000;
/** The maximum number of them that one user may allow, so that nobody can fill a project alone. */
const mostOfUser = 20;
const mostRaces = 5;

/**
 * Makes the function that creates the application of a client with a document in a project, if it does not exist yet, and returns the
 * reason why a user cannot allow it. The consent of the user follows.
 */
export const documentApplications = ({ log, ids, clock }: Pick<Deps, "log" | "ids" | "clock">) => {
  async function created({ owner, projectId, clientId }: DocumentClient, call: Call) {
    const value = { projectId, name: clientId, clientId, oidc: oidcOf(clientId) };
    const fact = factOf("application", first(owner, ids(), clock()), { case: "documentCreated", value });
    return log.appendIf<Refused>(call, fact, true, documentCondition).catch(lostRace);
  }

  return async (client: DocumentClient, call: Call): Promise<RequestProblem | undefined> => {
    for (let races = 0; races < mostRaces; races++) {
      const refused = await created(client, call);
      if (refused !== false) return refused && problemOf(refused);
    }
    throw refuse.because("CONFLICT", { params: { constraint: "applications_document" } });
  };
};

function problemOf({ isThere, hasMany, isFull }: Refused): RequestProblem | undefined {
  if (hasMany) return { key: "documents_of_user", params: { count: String(mostOfUser) } };
  if (isThere) return undefined;
  return isFull
    ? { key: "documents_of_project", params: { count: String(mostDocuments) } }
    : { key: "document_project" };
}

/** Of a document, only its origin is stored, whose pages may read tokens; the rest is read at each sign-in. */
const oidcOf = (document: string): OidcConfiguration =>
  create(OidcConfigurationSchema, {
    responseTypes: [OidcResponseType.CODE],
    grantTypes: [OidcGrantType.AUTHORIZATION_CODE, OidcGrantType.REFRESH_TOKEN],
    appType: OidcAppType.NATIVE,
    authMethodType: OidcAuthMethodType.NONE,
    additionalOrigins: [new URL(document).origin],
  });

type Refused = Readonly<Record<"isThere" | "hasMany" | "isFull", boolean>>;

/** The SQL of the clients with a document of a project: at most a few more than a project may have. */
const documentsOf = (project: string) => `(select a.app_id, a.client_id, a.active
          from applications a where a.project_id = ${project} and a.is_document offset 0) a`;

/** Whether any user allows the application `a`. */
const isAllowed = "exists (select from consents c where c.app_id = a.app_id offset 0)";

export const documentCondition: Condition = {
  asked: `owner, payload->>'projectId' as project, payload->>'clientId' as document, actor as "user"`,
  select: `select found.*, "isIn" and not "isTaken" and not "hasMany" and not "isFull" as holds
    from (select n, p.project_id is not null as "isIn",
        exists (select from applications a
          where a.client_id = asked.document and a.project_id = asked.project and a.is_document offset 0) as "isThere",
        exists (select from applications a
          where a.project_id = asked.project and a.name = asked.document offset 0) as "isTaken",
        exists (select from ${documentsOf("asked.project")} where a.client_id <> asked.document and exists (
            select from consents c where c.user_id = asked."user" and c.app_id = a.app_id offset 0)
          offset ${mostOfUser - 1}) as "hasMany",
        exists (select from ${documentsOf("asked.project")} where not a.active or ${isAllowed}
          offset ${mostDocuments - 1}) as "isFull"
      from asked left join projects p on p.owner = asked.owner and p.project_id = asked.project offset 0) found`,
};

/**
 * In a project with the maximum number of clients with a document, the oldest ones that no user allows any more make room; those that a
 * user refused stay. The consent to a new client is written a moment after it. Clients created at the same time may end each other.
 */
export const unallowedEnd: Cascade = {
  makes: "application.deleted",
  extent: "few",
  select: `select i.n, a.owner, a.app_id, a.version + 1, '{}'::jsonb
    from $input i cross join lateral (
      select a.owner, a.app_id, a.version from applications a
      where a.project_id = i.payload->>'projectId' and a.is_document and a.active
        and a.created < i.time - interval '1 minute' and not ${isAllowed}
      order by a.created, a.app_id
      limit (select greatest(0, count(*) - ${mostDocuments - 1}) from ${documentsOf("i.payload->>'projectId'")})
      for update skip locked) a`,
};

const documentInserted = applicationInserted(
  ["api", "isApi", "active"],
  {
    ...inFact("projectId", "name", "clientId"),
    oidc: "f.payload->'oidc'",
    isDocument: "true",
    ...historyInFact,
    complianceProblems: "'{}'",
    complianceVersion: "f.version",
  },
  { columns: ["complianceProblems"], values: ["version"] },
);

export const documentApplicationFolds = {
  documentCreated: {
    views: [`${documentInserted} from $facts f`],
    cascades: [unallowedEnd],
  },
} satisfies Pick<NounFolds<"application">, "documentCreated">;
