import type { Deps } from "../../deps.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { holdsGrant } from "../../services/callers/in_force.ts";
import { hrefOf } from "../../services/callers/resource_in_force.ts";
import { organizationScope, projectScope, scopes } from "../../services/callers/scopes.ts";
import { OauthError } from "../http/oauth_error.ts";
import { bounded, type Parameters, wordsOf } from "../http/parameters.ts";
import type { MachineClient } from "../request/machine.ts";
import { grantsEndedBy, isCacheable, mostCached } from "../request/machine_facts.ts";
import { apiScopes } from "../request/own_api.ts";
import { type Resource, resourceAnywhere, scopeFor } from "../request/resource.ts";
import { isOwnApi, longestResource, noBoundTokens } from "../request/target.ts";
import { firstEndAmong, ownRoles } from "./subject.ts";
import type { TokenKey } from "./token_key.ts";

/** The target of a machine's access token: our own API, a project, or one API of a project. */
export type MachineTarget = {
  readonly forApi: boolean;
  /** The project; null for our API. */
  readonly projectId: string | null;
  /** The API by its resource URI; null for a token for our API or the whole project. */
  readonly resource: Resource | null;
  readonly organizationId: string;
  readonly scope: string;
  readonly roles: readonly string[];
  /** The time at which the first of the grants behind the token ends, in seconds since 1970; null if none does. */
  readonly grantsEnd: number | null;
};

/** A machine's request: its form, its scopes, the issuer, and the key that its token is bound to. */
export type MachineWish = {
  readonly form: Parameters;
  readonly scope: string | undefined;
  readonly issuer: string;
  readonly jkt: TokenKey;
};

const longestScope = 2_000;

/** Makes the function that finds the target of a machine's token; fails if the machine may not have it. */
export function machineTarget({ sql, factCache }: Pick<Deps, "sql" | "factCache">) {
  const grantIn = recently(factCache, projectGrantRead(sql), ({ project }) => project);
  const grantAt = recently(factCache, resourceGrantRead(sql), ({ href }) => href);

  return async (machine: MachineClient, wish: MachineWish, now: Date): Promise<MachineTarget> => {
    const words = scopeIn(wish);
    const of = { user_id: machine.userId, organization: organizationIn(words), now };
    const uri = bounded(wish.form, "resource", longestResource);
    if (uri === undefined) return ofProject(words, of);
    if (words.some((word) => word.startsWith(projectScope)))
      throw new OauthError("invalid_target", "a token is for one API or for a project, not for both");
    if (!isOwnApi(uri, wish.issuer)) return ofResource(uri, words, of);
    if (wish.jkt !== undefined) throw noBoundTokens();
    return ofApi(machine, words);
  };

  async function ofProject(words: readonly string[], of: Holder): Promise<MachineTarget> {
    const grant = await grantIn({ ...of, project: projectIn(words) });
    if (!grant) throw new OauthError("invalid_scope", `the machine has no active grant in the project for ${whom(of)}`);
    return { ...grant, forApi: false, resource: null, scope: words.filter(isOfProject).join(" ") };
  }

  // Others do not learn whether a URI is that of an API.
  async function ofResource(uri: string, words: readonly string[], of: Holder): Promise<MachineTarget> {
    const grant = await grantAt({ ...of, href: hrefOf(uri) });
    if (!grant)
      throw new OauthError(
        "invalid_target",
        `the resource is no API of a project in which the machine has an active grant for ${whom(of)}`,
      );
    const scope = scopeFor(grant.resource, words.filter(isOfMachines).join(" "), grant.roles);
    return { ...grant, forApi: false, scope };
  }
}

// A service would take any other word for a permission that Postern has granted.
const isOfProject = (word: string): boolean =>
  word === "roles" || word.startsWith(projectScope) || word.startsWith(organizationScope);

// The other scopes tell about a user, and nobody has signed in.
const isOfMachines = (word: string): boolean => word === "roles" || !ofSignIns.includes(word);
const ofSignIns: readonly string[] = scopes;

const whom = ({ organization }: Holder) =>
  organization === null ? `its own organization: ${organizationScope}<id> names another` : "that organization";

function scopeIn({ form, scope }: MachineWish): readonly string[] {
  const text = bounded(form, "scope", longestScope) ?? scope ?? "";
  if (text.length > longestScope)
    throw new OauthError("invalid_scope", `scope is longer than ${longestScope} characters`);
  // RFC 6749, 3.3. The JSON of an assertion can contain a NUL or half a surrogate pair, which no text in the database can.
  if (!/^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(text))
    throw new OauthError("invalid_scope", "scope has a character that no scope may have");
  return [...new Set(wordsOf(text))];
}

/** A token for our API may do what its scope names, as far as the machine may do it. */
function ofApi({ owner }: MachineClient, words: readonly string[]): MachineTarget {
  const known: readonly string[] = apiScopes;
  const scope = words.filter((word) => known.includes(word)).join(" ");
  if (scope === "") throw new OauthError("invalid_scope", "scope must name the permissions that the token is for");
  const none = { projectId: null, resource: null, roles: [], grantsEnd: null };
  return { ...none, forApi: true, organizationId: owner, scope };
}

/** The project that a token is for. */
function projectIn(words: readonly string[]): string {
  const [projectId, ...others] = after(words, projectScope);
  if (!projectId)
    throw new OauthError("invalid_scope", `scope must name a project as ${projectScope}<id>, or resource an API`);
  if (others.length > 0) throw new OauthError("invalid_scope", "scope names more than one project");
  return projectId;
}

/** The organization whose grant a token is for; null for the machine's own. */
function organizationIn(words: readonly string[]): string | null {
  const [organizationId = null, ...others] = after(words, organizationScope);
  if (others.length > 0) throw new OauthError("invalid_scope", "scope names more than one organization");
  return organizationId;
}

const after = (words: readonly string[], prefix: string): readonly string[] =>
  words.filter((word) => word.startsWith(prefix)).map((word) => word.slice(prefix.length));

/** The SQL condition that the machine `u` holds a grant of the organization `o` in the project `p` that is in force. */
export const holdsMachineGrant = holdsGrant(" and (g.owner = o.organization_id) is true");

/** A machine, the organization that it names, and the time. */
type Holder = { readonly user_id: string; readonly organization: string | null; readonly now: Date };
type Grant = Pick<MachineTarget, "organizationId" | "roles" | "grantsEnd"> &
  Readonly<Record<"projectId" | "projectOwner", string>>;

/**
 * Makes the same read, cached for seconds until a fact, or the end of a grant, changes the result. The access that a token gives is read
 * again at each use.
 */
function recently<K extends Holder, G extends Grant>(
  factCache: Deps["factCache"],
  read: (key: K) => Promise<G | undefined>,
  targetOf: (key: K) => string,
) {
  type Recent = { readonly userId: string; readonly grant: G };
  const recent = factCache<Recent>({
    endedBy: grantsEndedBy,
    idsOf: ({ userId, grant }) => [userId, grant.organizationId, grant.projectId, grant.projectOwner],
    endOf: ({ grant }) => (isCacheable(grant) ? (grant.grantsEnd ?? Number.POSITIVE_INFINITY) * 1000 : 0),
    most: mostCached,
  });

  return async (key: K): Promise<G | undefined> => {
    const { user_id, organization } = key;
    // Neither id has a space in it, and an organization that a scope names may have an empty one.
    const name = `${user_id} ${organization === null ? "" : `of ${organization}`} ${targetOf(key)}`;
    return (recent.cached(name) ?? (await recent.look(name, () => found(key))))?.grant;
  };

  async function found(key: K): Promise<Recent | undefined> {
    const grant = await read(key);
    return grant && { userId: key.user_id, grant };
  }
}

const ofHolder = "user_id text, organization text, now timestamptz";

/** The SQL of the machine's roles in the project `p` by a grant in force; `named` is how the project is found. */
const heldIn = (
  named: string,
  more = "",
): string => `select n, p.project_id as "projectId", p.owner as "projectOwner", o.organization_id as "organizationId",
        coalesce(own.roles, '[]') as roles, ${firstEndAmong(" and (g.owner = o.organization_id) is true")} as "grantsEnd"${more}
      from asked join users u on u.user_id = asked.user_id
      cross join lateral (select coalesce(asked.organization, u.owner) as organization_id) o
      ${named}
      join organizations h on h.organization_id = p.owner
      cross join lateral ${ownRoles}
      where ${holdsMachineGrant}`;

/** Makes the read of a machine's roles in a project; undefined without a grant in force. */
const projectGrantRead = (sql: Sql) =>
  loadOne<Holder & { readonly project: string }, Grant>(sql, {
    asked: `${ofHolder}, project text`,
    select: heldIn("join projects p on p.project_id = asked.project"),
  });

/** Makes the read of an API by its URI, and of a machine's roles in its project; undefined if either is not in force. */
const resourceGrantRead = (sql: Sql) =>
  loadOne<Holder & { readonly href: string }, Grant & { readonly resource: Resource }>(sql, {
    asked: `${ofHolder}, href text`,
    select: heldIn(
      `cross join lateral ${resourceAnywhere("asked.href")} named join projects p on p.project_id = named.project_id`,
      ", named.resource",
    ),
  });
