import { expect, test } from "vitest";
import { organization } from "../harness.ts";
import { file, named, postern, run, setScene, within } from "./scene.ts";

setScene();

const everywhere = { "id.token.claim": "true", "access.token.claim": "true", "userinfo.token.claim": "true" };
const mapper = (name: string, config: object, kind = "oidc-usermodel-attribute-mapper") => ({
  ...{ name, protocol: "openid-connect", protocolMapper: kind },
  config: { ...everywhere, "jsonType.label": "String", ...config },
});
const attribute = (name: string, more: object = {}) =>
  mapper(name, { "user.attribute": name, "claim.name": name, ...more });

const text = (name: string, userMetadata: string, places = ["ID_TOKEN", "ACCESS_TOKEN", "USERINFO"]) => ({
  ...{ name, userMetadata, places: places.map((place) => `CLAIM_PLACE_${place}`) },
});

test("mappers of Keycloak become declared claims if their values stay the same, and the others are told", async () => {
  const organizationId = await organization(postern);
  const realmRoles = "oidc-usermodel-realm-role-mapper";
  const clientId = named("shop");
  const realm = {
    realm: "Realm",
    roles: { realm: [{ name: "reader" }] },
    clientScopes: [
      { name: "desk", protocolMappers: [attribute("desk", { "access.token.claim": "false" })] },
      { name: "badge", protocolMappers: [attribute("badge")] },
      { name: "profile", protocolMappers: [attribute("nickname")] },
    ],
    clients: [
      {
        ...{ clientId, redirectUris: ["https://shop.example/cb"] },
        ...{ defaultClientScopes: ["profile", "desk", "roles"], optionalClientScopes: ["badge", "address"] },
        protocolMappers: [
          attribute("department"),
          attribute("cost", { "claim.name": "https://shop\\.example/cost" }),
          mapper("groups", { "claim.name": "groups", multivalued: "true" }, realmRoles),
          attribute("hidden", { ...Object.fromEntries(Object.keys(everywhere).map((key) => [key, "false"])) }),
          mapper("Client ID", { "claim.name": "client_id" }, "oidc-usersessionmodel-note-mapper"),
          attribute("street", { "claim.name": "place.street" }),
          attribute("age", { "jsonType.label": "int" }),
          attribute("teams", { multivalued: "true" }),
          attribute("again", { "claim.name": "Department" }),
          attribute("roles"),
          mapper("audience", {}, "oidc-audience-mapper"),
        ],
      },
    ],
    users: [{ username: named("ada"), email: "ada@example.com", attributes: { department: ["Research"] } }],
  };
  const done = await run(
    "import",
    await file(JSON.stringify(realm)),
    "--organization",
    organizationId,
    "--from",
    "keycloak",
  );
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining("0 refused\n") });
  const { apps, users } = await within(organizationId);
  expect(apps).toHaveLength(1);
  expect(apps[0].oidc.declaredClaims).toEqual([
    text("department", "department"),
    text("https://shop.example/cost", "cost"),
    { name: "groups", roles: {}, places: text("", "").places },
    text("desk", "desk", ["ID_TOKEN", "USERINFO"]),
  ]);
  expect(users).toHaveLength(1);
  for (const [name, why] of [
    ["badge", "it is only for a scope"],
    ["street", "its value is inside an object"],
    ["age", "its value is not a text"],
    ["teams", "its value is a list"],
    ["again", "another one has its name"],
    ["roles", "its name is reserved"],
    ["audience", "nothing declares what oidc-audience-mapper does"],
  ])
    expect(done.stdout).toContain(`applications, 1: the claim of the mapper "${name}": ${why}`);
  for (const name of ["nickname", "hidden", "Client ID"]) expect(done.stdout).not.toContain(`"${name}"`);
});

test("the roles of a realm with roles of clients, or with a prefix, are no declared claim", async () => {
  const organizationId = await organization(postern);
  const of = (name: string, more: object = {}) =>
    mapper(name, { "claim.name": name, multivalued: "true", ...more }, "oidc-usermodel-realm-role-mapper");
  const client = { clientId: named("shop"), redirectUris: ["https://shop.example/cb"] };
  const realm = {
    realm: "Realm",
    roles: { realm: [{ name: "reader" }], client: { shop: [{ name: "buyer" }] } },
    clients: [
      { ...client, protocolMappers: [of("groups"), of("marked", { "usermodel.realmRoleMapping.rolePrefix": "r_" })] },
    ],
  };
  const done = await run(
    "import",
    await file(JSON.stringify(realm)),
    "--organization",
    organizationId,
    "--from",
    "keycloak",
  );
  expect(done.stdout).toContain('the claim of the mapper "groups": it has the roles of the realm alone');
  expect(done.stdout).toContain('the claim of the mapper "marked": its roles have a prefix');
  expect((await within(organizationId)).apps[0].oidc.declaredClaims ?? []).toEqual([]);
});
