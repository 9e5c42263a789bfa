import type { JsonObject } from "@bufbuild/protobuf";
import { newJwk } from "../fixture/jwk.ts";
import { made, malformed, type Scene, type Stage, within } from "./stage.ts";

type Extras = Pick<Scene, "fields" | "not" | "malformed">;

const scene = (name: string, says: Scene["says"], given: Scene["given"], extras: Extras = {}): Scene => ({
  ...{ rpc: "ApplicationService.AddApplicationKey", name, says, given },
  ...extras,
});

/** A key of a new application that signs with it, with a look at the application and its keys afterwards. */
async function key({ fixture, admin }: Stage, request: JsonObject, before: readonly JsonObject[] = []) {
  const headers = within(fixture.organizationId);
  const projectId = await fixture.newProject();
  const method = {
    authMethodType: "OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT",
    redirectUris: ["https://portal.example/cb"],
  };
  const path = `/v1/projects/${projectId}/applications`;
  const { appId } = await made(admin, `${path}/oidc`, { name: "Portal", ...method }, headers);
  for (const one of before) await made(admin, `${path}/${appId}/keys`, one, headers);
  const see = async () => [
    (await admin.get(`${path}/${appId}`, headers)).body,
    (await admin.get(`${path}/${appId}/keys`, headers)).body,
  ];
  return { request: { projectId, appId, ...request }, see };
}

const jwksUri = "https://portal.example/jwks.json";
// RFC 7517, A.1, and RFC 8037, A.2.
const rsa = {
  ...{ kty: "RSA", e: "AQAB", alg: "RS256", kid: "2011-04-29" },
  n: [
    "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhM",
    "stn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5h",
    "ajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
  ].join(""),
};
const ed25519 = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };
const refuses = (name: string, fields: string[], request: JsonObject) =>
  scene(name, "VALIDATION_FAILED", (stage) => key(stage, request), { fields });

/** Every way in which the addition of a key can end. */
export const keyScenes: readonly Scene[] = [
  scene("an RSA key", "OK", (stage) => key(stage, { publicKey: rsa })),
  scene("a key without kid, which gets its thumbprint", "OK", (stage) => key(stage, { publicKey: ed25519 })),
  scene("a key as browsers export it", "OK", (stage) =>
    key(stage, { publicKey: { ...rsa, ext: true, key_ops: ["verify"], use: "sig" } }),
  ),
  scene("a second key", "OK", (stage) => key(stage, { publicKey: ed25519 }, [{ publicKey: rsa }])),
  scene("a URI", "OK", (stage) => key(stage, { jwksUri })),
  scene("a kid that is there", "APPLICATION_KEY_EXISTS", (stage) =>
    key(stage, { publicKey: newJwk("2011-04-29") }, [{ publicKey: rsa }]),
  ),
  scene("a URI beside a key", "APPLICATION_KEYS_MIXED", (stage) => key(stage, { jwksUri }, [{ publicKey: rsa }])),
  scene("a key beside a URI", "APPLICATION_KEYS_MIXED", (stage) => key(stage, { publicKey: rsa }, [{ jwksUri }])),
  refuses("neither", ["publicKey"], {}),
  refuses("both", ["jwksUri"], { publicKey: rsa, jwksUri }),
  refuses("a URI on plain http", ["jwksUri"], { jwksUri: "http://portal.example/jwks.json" }),
  refuses("a URI with user information", ["jwksUri"], { jwksUri: "https://ada@portal.example/jwks.json" }),
  refuses("a kind of key that is unknown", ["publicKey.kty"], { publicKey: { kty: "oct" } }),
  refuses("members that are missing, and those of another kind", ["publicKey.n", "publicKey.e", "publicKey.x"], {
    publicKey: { kty: "RSA", x: ed25519.x },
  }),
  refuses("too few bits, and another algorithm", ["publicKey.n", "publicKey.alg"], {
    publicKey: { ...rsa, n: "AQAB", alg: "ES256" },
  }),
  refuses("a point that is on no curve", ["publicKey"], { publicKey: { ...newJwk(), x: "AQAB" } }),
  refuses("members that are no base64url", ["publicKey.x"], { publicKey: { ...ed25519, x: "a+b=" } }),
  scene(
    "a private key",
    "VALIDATION_FAILED",
    async (stage) => {
      const given = await key(stage, {});
      const publicKey = { ...ed25519, d: "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A" };
      return { ...given, raw: { json: JSON.stringify({ ...given.request, publicKey }) } };
    },
    {
      fields: ["publicKey.d"],
      not: { binary: "the binary format has no field for it" },
      malformed: malformed.fields,
    },
  ),
  { ...removal("that is not there", "APPLICATION_KEY_NOT_FOUND"), given: (stage) => key(stage, { keyId: "none" }) },
];

function removal(name: string, says: Scene["says"]) {
  return { rpc: "ApplicationService.RemoveApplicationKey", name, says } as const;
}
