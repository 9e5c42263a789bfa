import type { Call, Deps } from "../../deps.ts";
import { factOf, first } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { wordsOf } from "../http/parameters.ts";
import type { ExchangedTokenOf } from "./exchanged_token.ts";

/** Records that a machine begins to act for a user; before it has a token, so that there is none without the event. */
export async function delegationBegins(
  { log, ids, clock }: Pick<Deps, "log" | "ids" | "clock">,
  call: Call,
  of: Beginning,
) {
  const { machine, credential, delegation, acted, scope } = of;
  const { signOn, projectId, resource } = delegation;
  const value = {
    userId: signOn.userId,
    machineIds: [machine.userId, ...acted],
    ...(machine.owner === signOn.userOwner && { machineCredentialId: credential.id }),
    appId: signOn.appId,
    apiId: resource.appId,
    resourceUri: resource.uri,
    projectId,
    scopes: [...wordsOf(scope)],
  };
  const begun = factOf("delegation", first(signOn.userOwner, ids(), clock()), { case: "begun", value });
  await log.append(call, [{ ...begun, by: machine.userId }], true);
}

type Beginning = Pick<ExchangedTokenOf, "machine" | "credential" | "delegation" | "acted" | "scope">;

/** The folds of facts about delegations. They change no table: the token that follows notes that the machine acted. */
export const delegationFolds = { begun: {} } satisfies NounFolds<"delegation">;
