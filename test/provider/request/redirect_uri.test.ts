import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  OidcAppType,
  OidcAuthMethodType,
  type OidcConfiguration,
  OidcConfigurationSchema,
  OidcGrantType,
} from "../../../gen/postern/v1/application_pb.ts";
import { blockingProblem, registeredUri } from "../../../src/provider/request/redirect_uri.ts";
import { problemsOf, type UriList } from "../../../src/services/applications/compliance.ts";

const { WEB, USER_AGENT, NATIVE } = OidcAppType;
const { BASIC, NONE } = OidcAuthMethodType;
const { AUTHORIZATION_CODE, IMPLICIT, DEVICE_CODE } = OidcGrantType;

const uris = [
  "https://app.example/cb",
  "http://app.example/cb",
  "http://127.0.0.1/cb",
  "http://[::1]:8080/cb",
  "com.example.app:/cb",
  "app:/cb",
  "https://app.example/cb#top",
  "https://*.app.example/cb",
  "/cb",
  "localhost:3000/cb",
  "https://user@app.example/cb",
  "javascript:alert(1)",
];

const configurations = [WEB, USER_AGENT, NATIVE].flatMap((appType) =>
  [BASIC, NONE].flatMap((authMethodType) =>
    [AUTHORIZATION_CODE, IMPLICIT, DEVICE_CODE].flatMap((grantType) =>
      [false, true].map((devMode) => ({ appType, authMethodType, grantTypes: [grantType], devMode })),
    ),
  ),
);

// Users are sent there all the same: these warn the developer.
const warnings = [
  ...["NATIVE_SCHEME_WITHOUT_DOT", "IMPLICIT_CUSTOM_OR_HTTP", "REDIRECT_URI_DUPLICATE"],
  "HTTP_ON_CONFIDENTIAL_WEB",
];

/** The problem that the compliance of the whole application reports first about a URI, warnings aside. */
const reported = (oidc: OidcConfiguration, list: UriList, uri: string) =>
  problemsOf(oidc, true).find(
    ({ key, fields }) =>
      !warnings.includes(key) && fields.some((field) => field.path.startsWith(list) && field.uri === uri),
  )?.key;

test("users are kept from a URI for the first problem that compliance reports about it, whatever else is registered", () => {
  const found = new Set<string | undefined>();
  for (const configuration of configurations)
    for (const list of ["redirectUris", "postLogoutRedirectUris"] as const) {
      const oidc = create(OidcConfigurationSchema, { ...configuration, [list]: [...uris, ...uris] });
      for (const uri of uris) {
        const problem = blockingProblem(oidc, uri, list);
        expect({ ...configuration, list, uri, problem }).toEqual({
          ...configuration,
          list,
          uri,
          problem: reported(oidc, list, uri),
        });
        found.add(problem);
      }
    }
  expect(found.size).toBe(11);
});

test("users of a native application may be sent to any port of a registered loopback URI", () => {
  const native = create(OidcConfigurationSchema, { appType: NATIVE, redirectUris: ["http://127.0.0.1/cb"] });
  expect(registeredUri(native, "http://127.0.0.1:51234/cb")).toBe("http://127.0.0.1/cb");
  expect(registeredUri(native, "http://127.0.0.1:51234/other")).toBeUndefined();
  const web = create(OidcConfigurationSchema, { appType: WEB, redirectUris: ["http://127.0.0.1/cb"] });
  expect(registeredUri(web, "http://127.0.0.1:51234/cb")).toBeUndefined();
});
