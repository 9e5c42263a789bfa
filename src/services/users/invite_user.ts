import type { ServiceImpl } from "@connectrpc/connect";
import { InviteUserRequestSchema, type UserService } from "../../../gen/postern/v1/user_pb.ts";
import { type Call, type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { detailsAfter, factOf, next, type Versioned } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { messageRule } from "../../rules.ts";
import { userInForce } from "../callers/in_force.ts";
import { qualifiedName } from "../callers/login_name.ts";
import { endingOutgrownCodes } from "../members/ended_by_role.ts";
import { languageOfMail, type MailSettings, mailSecret } from "../verification/mail.ts";
import { type MailSends, mailSendsColumns, refuseTooManyMails } from "../verification/mail_limits.ts";
import { invitationSeconds, newPasswordCode } from "../verification/password_code.ts";
import { exclusive } from "../verification/verification.ts";

/** Invitations for users without a password. */
export const userInvitation = (deps: Deps, settings: MailSettings) => {
  const { log, sql, clock } = deps;
  const userToInvite = inviteeRead(sql, settings);
  const codeFor = codeMaker(deps, settings);
  const outgrownEnd = endingOutgrownCodes(deps);

  return {
    async inviteUser(request, call) {
      const { userId: id } = request;
      const user = await userToInvite({ owner: organizationOf(call), id }, call.signal);
      if (!user) throw refuse.notFound("user", id);
      const email = refuseUninvitable(user);
      const { named, secret, answered } = codeFor(user, email, { call, isAnswered: request.returnCode !== undefined });
      const at = next(user, clock());
      const value = { isInvitation: true, ...named };
      const requested = factOf("user", at, { case: "passwordCodeRequested", value }, secret);
      return log.append(call, [requested], { details: detailsAfter(at), ...answered }).then(outgrownEnd(id, call));
    },
  } satisfies Partial<ServiceImpl<typeof UserService>>;
};

export const invitationRules = [messageRule(InviteUserRequestSchema, exclusive)];

type Invitee = Versioned &
  MailSends & {
    readonly kind: string;
    readonly active: boolean;
    readonly qualifiedName: string;
    readonly email: string | null;
    readonly hasPassword: boolean;
  };

const inviteeRead = (sql: Sql, settings: MailSettings) =>
  loadOne<{ owner: string; id: string }, Invitee>(sql, {
    asked: "owner text, id text",
    select: `select n, u.user_id as id, u.owner, u.kind, ${userInForce} as active, ${qualifiedName("u")} as "qualifiedName",
      u.email, u.version, u.created, u.changed,
      exists (select from passwords p where p.user_id = u.user_id) as "hasPassword",
      ${mailSendsColumns({ user: "u.user_id", email: "u.email", purpose: "password" }, settings)}
      from asked join users u on u.owner = asked.owner and u.user_id = asked.id`,
  });

function refuseUninvitable({ id, kind, active, email, hasPassword }: Invitee): string {
  if (kind !== "human" || email === null) throw refuse.because("USER_NOT_HUMAN", { params: { id } });
  if (!active) throw refuse.because("USER_INACTIVE");
  if (hasPassword) throw refuse.because("PASSWORD_EXISTS");
  return email;
}

type InvitationRequest = { readonly call: Call; readonly isAnswered: boolean };

/** Makes the code of an invitation: the id in its fact, its secret, and its part of the response. */
function codeMaker(deps: Deps, settings: MailSettings) {
  return (user: Invitee, email: string, { call, isAnswered }: InvitationRequest) => {
    const id = deps.ids();
    const expirationDate = new Date(deps.clock().getTime() + invitationSeconds * 1000);
    const mailId = isAnswered ? null : id;
    const { code, mailCode } = newPasswordCode(deps, { id, email, mailId, expirationDate });
    if (isAnswered) return { named: {}, secret: { mailCode }, answered: { verificationCode: code } };
    refuseTooManyMails(user, settings, deps.clock());
    const language = languageOfMail(call, settings);
    const codes = [{ loginName: user.qualifiedName, code }];
    const mail = {
      kind: "invitation",
      purpose: "password",
      email,
      language,
      codes,
      expirationDate,
      nth: user.nth,
    } as const;
    return { named: { passwordCodeId: id }, secret: { mailCode, mail: mailSecret(deps, id, mail) }, answered: {} };
  };
}
