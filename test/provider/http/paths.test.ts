import { expect, test } from "vitest";
import { paths } from "../../../src/provider/http/paths.ts";
import { providerRoutes } from "../../../src/provider/provider.ts";
import { registeredOrigins } from "../../../src/provider/request/cross_origin.ts";
import { signingKeys } from "../../../src/provider/tokens/signing_keys.ts";
import { passwordResetsOf } from "../../../src/services/passwords/password_reset.ts";
import { signInsOf } from "../../../src/services/sessions/sign_in.ts";
import { sharedPostern } from "../../harness.ts";
import { openHandlers } from "../../sent_statements.ts";

// The benchmark of hostile requests attacks each path of the list, so a page that is missing there is never attacked.
test("the list of paths has every route of the provider, and nothing else", async () => {
  await using postern = await sharedPostern();
  await using handlers = openHandlers(postern);
  const { deps } = handlers;
  const { files, requests } = providerRoutes({
    ...{ deps, settings: postern.config, keys: signingKeys({ ...deps, instanceId: "instance" }) },
    issuer: () => postern.url,
    isRegistered: registeredOrigins(deps.sql),
    signIns: signInsOf(deps, postern.config),
    resets: passwordResetsOf(deps, postern.config),
  });
  const served = [...files, ...requests].map(({ path }) => path);
  expect(served.toSorted()).toEqual(Object.values<string>(paths).toSorted());
});
