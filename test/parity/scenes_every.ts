import type { JsonObject } from "@bufbuild/protobuf";
import { fixtureOf, freshAdmin, newEraser } from "../fixture/organization.ts";
import { factorRows } from "../guards/factor_rows.ts";
import { type Row, rows } from "../guards/matrix_rows.ts";
import { machine, organization, signedUp } from "../harness.ts";
import { made, type Scene, within } from "./stage.ts";

const unary = Object.entries(rows).filter(([rpc]) => rpc !== "EventService.WatchEvents");

// A list, or what an organization has one of, is alike only where nothing else happens.
const needsOwnPlace = (rpc: string) =>
  /\.List|Policy$|Branding$|ProjectRole$|UpdateOrganization$|GetOverview$/.test(rpc);

/** The request in the row of the permission matrix. */
const answers = ([rpc, row]: [string, Row]): Scene => ({
  ...{ rpc, name: "answers", says: "OK" },
  async given({ postern, admin, fixture: shared }) {
    const fixture = needsOwnPlace(rpc) ? await fixtureOf(postern, await organization(postern)) : shared;
    const headers = within(fixture.organizationId);
    const request: JsonObject = JSON.parse(JSON.stringify(await row.request(fixture)));
    // The instance has one for all doors, and only the first of them would find it set.
    if (rpc === "PolicyService.ResetRetentionPolicy") await admin.delete("/v1/policies/retention");
    if (rpc === "PolicyService.SetRetentionPolicy") return { request, by: await freshAdmin(postern) };
    if (row.needs === "user.erase") return { request, headers, by: await newEraser(postern, fixture.organizationId) };
    if (row.decides !== "nobody") return { request, headers };
    const { userId, client } = await machine(postern, fixture);
    await made(admin, "/v1/members", { userId, roles: ["ORG_VIEWER"] }, headers);
    return { request, by: client };
  },
});

const withoutToken = ([rpc, row]: [string, Row]): Scene => ({
  ...{ rpc, name: "without a token", says: row.unknownCaller ? (row.unknownCaller.reason ?? "OK") : "UNAUTHENTICATED" },
  given: async ({ postern, fixture }) => ({
    request: JSON.parse(JSON.stringify(await row.request(fixture))),
    by: postern.as(),
  }),
});

const withoutPermission = ([rpc, row]: [string, Row]): Scene => ({
  ...{ rpc, name: "without the permission", says: "PERMISSION_DENIED" },
  given: async ({ fixture, stranger }) => ({
    request: JSON.parse(JSON.stringify(await row.request(fixture))),
    by: stranger,
  }),
});

const signsIn: Scene = {
  ...{ rpc: "SessionService.CreateSession", name: "answers", says: "OK" },
  async given({ postern, fixture }) {
    const { username, password } = await signedUp(postern, fixture);
    return { request: { loginName: username.toUpperCase(), password }, by: postern.as() };
  },
};

// Their rows are refused, or have scenes of their own.
const elsewhere = new Set([
  "AccountService.ChangePassword",
  "AccountService.EraseMe",
  "AccountService.ResetPassword",
  "InvitationService.AcceptInvitation",
  "InvitationService.DeclineInvitation",
  "RegistrationService.RequestRegistration",
  "RegistrationService.CompleteRegistration",
  "SessionService.CreateSession",
  ...Object.entries(factorRows).flatMap(([rpc, { needs }]) => (/^(caller|anyone)$/.test(needs) ? [rpc] : [])),
]);

/** Every unary rpc: an answer, and the two refusals that come before its handler. */
export const everyScenes: readonly Scene[] = [
  ...unary.filter(([rpc]) => !elsewhere.has(rpc)).map(answers),
  signsIn,
  ...unary.map(withoutToken),
  ...unary
    .filter(([, { needs, ownOrganization }]) => needs !== "anyone" && needs !== "caller" && !ownOrganization)
    .map(withoutPermission),
];
