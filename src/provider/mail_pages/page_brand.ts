import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { joiningCodeHash, openEmailLink, passwordCodeMacs, undoCodeMacs } from "../../security/mailed_secret.ts";
import type { Keyring } from "../../security/seal.ts";
import type { CookieName } from "../http/cookies.ts";
import { MalformedRequest } from "../http/oauth_error.ts";
import { parametersIn } from "../http/parameters.ts";
import type { Brand } from "../pages/brand.ts";
import { brandsRead } from "../pages/brand_read.ts";
import { PageError } from "../pages/page_error.ts";
import type { ProviderParts } from "../parts.ts";
import { organizationOfRequest, type ProvenRequest } from "../request/authorization_request.ts";
import { requestProof } from "../request/request_proof.ts";

/** A page's cookies, and the request of the sign-in that continues afterwards. */
type OpenedPage = {
  readonly pending: string | undefined;
  readonly cookie: (name: CookieName) => string | undefined;
};

/** The organization whose page it is, the sign-in to be continued, and the organization that it names, before that is checked. */
type PageOwner = {
  readonly brand: Brand;
  readonly proven?: ProvenRequest;
  readonly organizationId: string | undefined;
};

/**
 * Finds the organization whose page it is: that of the application whose sign-in is waiting; otherwise, with a code from a mail, that of
 * the code's user. Only the reader of the mail has the code, so nobody else learns of the organization.
 */
export function pageOwners(parts: ProviderParts) {
  const { deps } = parts;
  const { sql, clock, secrets } = deps;
  const prove = requestProof(parts);
  const brands = brandsRead(sql);
  const ownerOfCode = ownerOfCodeRead(sql);

  return async (page: OpenedPage): Promise<PageOwner> => {
    const ofApplication = page.pending === undefined ? undefined : await ownerOfRequest(page.pending);
    if (ofApplication) return ofApplication;
    const owner = await ownerOf(page);
    const brand = await (owner === undefined ? brands.ofInstance() : brands.ofOrganization(owner));
    return { brand, organizationId: undefined };
  };

  async function ownerOfRequest(pending: string): Promise<PageOwner | undefined> {
    try {
      const parameters = parametersIn(pending);
      const proven = await prove(parameters, clock(), undefined);
      return { brand: proven.brand, proven, organizationId: organizationOfRequest(proven, parameters) };
    } catch (error) {
      // The application has been changed or deleted since; authorize will report it.
      if (error instanceof PageError || error instanceof MalformedRequest) return undefined;
      throw error;
    }
  }

  async function ownerOf({ cookie }: OpenedPage): Promise<string | undefined> {
    const [code, link] = [cookie("code"), cookie("link")];
    const sealed = link === undefined ? undefined : openEmailLink(secrets.keyring, link)?.owner;
    if (sealed !== undefined) return sealed;
    const joining = [cookie("invitation"), cookie("registration")];
    const macs = macsOf(secrets.keyring, { code, undo: link, joining });
    return macs.length === 0 ? undefined : (await ownerOfCode({ macs, now: clock().toISOString() }))?.owner;
  }
}

type Codes = Readonly<Record<"code" | "undo", string | undefined>> & {
  readonly joining: readonly (string | undefined)[];
};

/** The stored forms of the codes that a browser keeps from the links of mails, in hexadecimal. */
function macsOf(keyring: Keyring, { code, undo, joining }: Codes): readonly string[] {
  const ofPassword = code === undefined ? [] : passwordCodeMacs(keyring, code);
  const ofUndo = undo === undefined ? [] : undoCodeMacs(keyring, undo);
  const ofJoining = joining.flatMap((one) => (one === undefined ? [] : [joiningCodeHash(one)]));
  return [...ofPassword, ...ofUndo, ...ofJoining].map((mac) => mac.toString("hex"));
}

// A code for each purpose has an index of its own.
const codesOf = (mac: string): string =>
  ["password", "undo", "invitation", "registration"]
    .map((purpose) => `select owner, expiration_date from mail_codes where mac = ${mac} and purpose = '${purpose}'`)
    .join(" union all ");

/** Finds the organization that a code in a mail belongs to. */
export const ownerOfCodeRead = (sql: Sql) =>
  loadOne<{ macs: readonly string[]; now: string }, { owner: string }>(sql, {
    asked: "macs text[], now timestamptz",
    select: `select n, c.owner from asked cross join lateral unnest(asked.macs) as m (mac)
             cross join lateral (${codesOf("decode(m.mac, 'hex')")}) c
             where c.expiration_date > asked.now`,
  });
