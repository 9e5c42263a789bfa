import { cachedLookup } from "../guards/cached_lookup.ts";
import type { Lookups } from "../guards/held_permissions.ts";
import type { Runtime } from "../runtime/runtime.ts";
import * as lookups from "../services/callers/caller_lookups.ts";
import { type FreshSignInSettings, freshSignInRead } from "../services/callers/fresh_sign_in.ts";

/** Caches lookups of owners, which never change; login names and memberships change, and are read each time. */
export function cachedLookups(runtime: Runtime, settings: FreshSignInSettings): Lookups {
  const { instanceId, deps } = runtime;
  const { sql } = deps;
  const deleted = deletedSince(runtime);
  const exists = cachedLookup(lookups.organizationExistsRead(sql));
  const ownerOfUser = cachedLookup(lookups.ownerOfUserRead(sql), 1_000_000);
  const userOfSession = cachedLookup(lookups.userOfSessionRead(sql));
  return {
    instanceId,
    organizationExists: async (id) => (await exists(id)) === true && !deleted.has(id),
    async ownerOfUser(id) {
      const owner = await ownerOfUser(id);
      return owner !== undefined && deleted.has(owner) ? undefined : owner;
    },
    ownerOfAnyUser: lookups.ownerOfAnyUserRead(sql),
    async userOfSession(id) {
      const found = await userOfSession(id);
      return found && deleted.has(found.owner) ? undefined : found;
    },
    userOfLoginName: lookups.userOfLoginNameRead(sql),
    userGrant: cachedLookup(lookups.userGrantPlaceRead(sql)),
    membershipsOf: lookups.membershipsRead(sql),
    signedInFreshly: freshSignInRead(deps, settings),
  };
}

/** The organizations deleted since the start, on any node, for which no cached lookup is valid. */
function deletedSince({ tail, onAppended }: Runtime): ReadonlySet<string> {
  const deleted = new Set<string>();
  const note = (type: string, stream: string) => {
    if (type === "organization.deleted") deleted.add(stream);
  };
  tail.listen({
    events: (events) => events.forEach(({ type, stream }) => void note(type, stream)),
    lost: () => deleted.clear(),
  });
  onAppended((facts) => facts.forEach(({ type, at }) => void note(type, at.stream)));
  return deleted;
}
