import { SignOnEnd, SignOnEndSchema } from "../../../gen/postern/v1/sign_on_pb.ts";
import type { Step } from "../../events/fold.ts";

/** The applications to be deleted: their join to `$input` i, and their id. */
export type Leaving = { readonly from?: string; readonly app: string };

/** The users' connections to applications, which end with them: consents and sign-ins, as many as the applications have users. */
export const connectionsEnd = ({ from = "", app }: Leaving): readonly Step[] => [
  {
    makes: "consent.withdrawn",
    select: `select i.n, c.owner, c.consent_id, c.version + 1,
               jsonb_build_object('userId', c.user_id, 'appId', c.app_id, 'byAdministrator', true)
             from $input i ${from} join consents c on c.app_id = ${app}`,
  },
  {
    makes: "sign_on.ended",
    select: `select i.n, b.owner, s.sign_on_id, 1::bigint, jsonb_build_object('userId', s.user_id, 'appId', s.app_id,
               'sessionId', s.session_id, 'reason', '${SignOnEndSchema.value[SignOnEnd.APPLICATION_DELETED]?.name}')
             from $input i ${from} join sign_ons s on s.app_id = ${app} and s.expiration_date > now()
             join browser_sessions b on b.session_id = s.session_id`,
  },
];
