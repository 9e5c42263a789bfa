import { ClientRefused, OauthError } from "../http/oauth_error.ts";
import { required } from "../http/parameters.ts";
import { longestAssertion, subjectOf } from "../request/assertion.ts";
import type { Authenticate, TokenQuestion } from "../request/client_authentication.ts";
import { machineAuthentication, machineClientRead, type ProvenMachine, recentMachines } from "../request/machine.ts";
import type { ExchangeParts, TokenResponse } from "./grant_exchange.ts";
import { clientRead } from "./grant_read.ts";
import { machineTarget } from "./machine_target.ts";
import { newMachineToken, writingMachineTokens } from "./machine_token.ts";
import { tokenKeys, tokenTypeOf } from "./token_key.ts";

type Parts = ExchangeParts & { readonly authenticate: Authenticate };

/** The client credentials grant (RFC 6749, 4.4), for machines. */
export function clientCredentialsGrant(parts: Parts) {
  const { deps, maker, authenticate } = parts;
  const [clientOf, machineOf] = [clientRead(deps.sql), recentMachines(deps)];
  const machines = machineAuthentication(deps, maker.issuer);
  const issue = issuing(parts);

  return async (request: TokenQuestion): Promise<TokenResponse> => {
    const machine = await machineOf(request.proof);
    if (!machine) {
      await authenticate(await clientOf(request.proof.clientId, deps.clock()), request);
      throw new OauthError("unauthorized_client", "only machines may use this grant type, not applications");
    }
    return issue(request, await machines.byClaim(machine, request), undefined);
  };
}

/** The grant of RFC 7523, 2.1, for machines: an assertion about the machine itself. It needs no other client authentication. */
export function jwtBearerGrant(parts: Parts) {
  const { deps, maker } = parts;
  const machineOf = machineClientRead(deps.sql);
  const machines = machineAuthentication(deps, maker.issuer);
  const issue = issuing(parts);

  return async (request: TokenQuestion): Promise<TokenResponse> => {
    const { form, proof, call } = request;
    const assertion = required(form, "assertion", longestAssertion);
    const machine = await machineOf(subjectOf(assertion) ?? "", deps.clock());
    const isOwn = machine?.clientId === proof.clientId;
    if (proof.method !== "none") await machines.byClaim(isOwn ? machine : undefined, request);
    const proven = machine && isOwn && (await machines.byAssertion(machine, assertion, { needs: "nothing", call }));
    if (!proven) throw notAccepted();
    const { scope } = proven.claims;
    return issue(request, proven, typeof scope === "string" ? scope : undefined);
  };
}

const notAccepted = () =>
  new OauthError("invalid_grant", "the assertion is of no machine, not for us, not of now, or was used before");

/** Makes the issue of a machine's token. It records no event: the credential has its own, and shows when it was last used. */
function issuing({ deps, maker }: ExchangeParts) {
  const targetOf = machineTarget(deps);
  const write = writingMachineTokens(deps.sql);
  const keyOf = tokenKeys(deps, maker.issuer);

  return async (request: TokenQuestion, proven: ProvenMachine, scope: string | undefined) => {
    const { form, call } = request;
    const [{ jkt, useProof }, now] = [await keyOf(request), deps.clock()];
    const target = await targetOf(proven.machine, { form, scope, issuer: maker.issuer(), jkt }, now);
    await useProof();
    const of = { machine: proven.machine, credential: proven.credential, target, jkt, now };
    const token = await newMachineToken(maker, of);
    if (!(await write(of, token, call))) throw new ClientRefused();
    const { text, seconds } = token;
    return { access_token: text, token_type: tokenTypeOf(jkt), expires_in: seconds, scope: target.scope };
  };
}
