import type { Deps } from "../../deps.ts";
import { loadOne } from "../../events/load.ts";
import { isMultiFactor } from "./authentication_class.ts";

/** The time for which a sign-in counts as fresh. */
export type FreshSignInSettings = { readonly freshSignInSeconds: number };

/** The time and the methods of a user's sign-in, and whether the user has a second factor. */
export type SignInState = {
  readonly authTime: Date;
  readonly methods: readonly string[];
  readonly hasFactor: boolean;
};

/**
 * Whether a sign-in was recent, and used a factor if the user has one. So a stolen token cannot change the requirements of a sign-in or a
 * reset; nor can a sign-in by password alone from before the factor was added.
 */
export const isFreshSignIn = (
  { authTime, methods, hasFactor }: SignInState,
  { freshSignInSeconds }: FreshSignInSettings,
  now: Date,
): boolean => now.getTime() - authTime.getTime() <= freshSignInSeconds * 1000 && (!hasFactor || isMultiFactor(methods));

/** A user, and the session whose sign-in counts, if any. */
export type SignedInUser = { readonly userId: string; readonly sessionId: string | undefined };

type Row = { readonly kind: string; readonly authTime: Date | null } & Omit<SignInState, "authTime">;

/** Makes the check whether callers may change their own account: people need a fresh session, machines their token. */
export function freshSignInRead({ sql, clock }: Pick<Deps, "sql" | "clock">, settings: FreshSignInSettings) {
  const read = loadOne<{ user: string; session: string | null }, Row>(sql, {
    asked: `"user" text, session text`,
    select: `select n, u.kind, s.created as "authTime", coalesce(s.amr, '{}') as methods, exists (
               select from factors f where f.user_id = u.user_id and f.kind <> 'recovery_codes') as "hasFactor"
             from asked join users u on u.user_id = asked."user"
             left join sessions s on s.session_id = asked.session and s.user_id = u.user_id`,
  });
  return async ({ userId, sessionId }: SignedInUser): Promise<boolean> => {
    const row = await read({ user: userId, session: sessionId ?? null });
    if (row?.kind !== "human") return true;
    const { authTime, ...signIn } = row;
    return authTime !== null && isFreshSignIn({ ...signIn, authTime }, settings, clock());
  };
}
