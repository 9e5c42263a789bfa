import type { FactorJson } from "../../gen/postern/v1/factor_pb.ts";
import type { UserJson } from "../../gen/postern/v1/user_pb.ts";
import { call } from "../calls/client.ts";
import { useCall } from "../calls/use_call.ts";
import { Ask } from "../parts/ask.tsx";
import { Badge } from "../parts/badge.tsx";
import type { Submission } from "../parts/form.tsx";
import { Card, Empty, Facts, Read } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { say } from "../parts/toasts.tsx";
import { may } from "../sign_in/me.ts";
import { objectTexts } from "../texts/objects.ts";
import { t } from "../texts/text.ts";
import { oneUserTexts } from "../texts/user.ts";
import { Sessions } from "./sessions.tsx";
import { Tokens } from "./tokens.tsx";
import type { UserPart } from "./user_part.ts";

/** How the user signs in, and where. */
export function Security({ user, reading }: UserPart) {
  const scope = { organizationId: user.details?.resourceOwner };
  return (
    <div class="cards">
      {user.human && <SignIn user={user} reading={reading} />}
      {user.human && <Factors user={user} />}
      {user.human && may("SessionService/ListSessions", scope) && <Sessions user={user} />}
      {may("UserService/ListAccessTokens", scope) && <Tokens user={user} />}
    </div>
  );
}

function SignIn({ user, reading }: UserPart) {
  const { lastSignInDate, passwordChangeDate, invitationPending } = reading.data?.signIn ?? {};
  const mayEdit = may("UserService/SetPassword", { organizationId: user.details?.resourceOwner });
  const setPassword = async ({ draft, key }: Submission) => {
    await call("UserService/SetPassword", { userId: user.id ?? "", newPassword: String(draft.newPassword) }, { key });
    say(t(oneUserTexts.passwordSet));
    await reading.reload();
  };
  return (
    <Card
      title={t(oneUserTexts.signIn)}
      actions={
        mayEdit && (
          <Ask
            text={t(oneUserTexts.setPassword)}
            about={t(oneUserTexts.setPasswordAbout)}
            fields={[
              {
                name: "newPassword",
                label: t(oneUserTexts.newPassword),
                kind: "password",
                autoComplete: "new-password",
                ofUser: user.username ?? "",
              },
            ]}
            values={{ newPassword: "" }}
            act={setPassword}
          />
        )
      }
    >
      <Facts
        facts={[
          [t(oneUserTexts.lastSignIn), lastSignInDate ? <Time at={lastSignInDate} /> : t(oneUserTexts.never)],
          [
            t(oneUserTexts.passwordChanged),
            passwordChangeDate ? (
              <Time at={passwordChangeDate} />
            ) : invitationPending ? (
              <Badge tone="warn">{t(oneUserTexts.invitationPending)}</Badge>
            ) : (
              t(oneUserTexts.never)
            ),
          ],
        ]}
      />
    </Card>
  );
}

function Factors({ user }: { readonly user: UserJson }) {
  const userId = user.id ?? "";
  const factors = useCall("FactorService/ListFactors", { userId });
  const mayRemove = may("FactorService/RemoveFactor", { organizationId: user.details?.resourceOwner });
  const remove =
    (factorId: string) =>
    async ({ key }: Submission) => {
      await call("FactorService/RemoveFactor", { userId, factorId }, { key });
      await factors.reload();
    };
  return (
    <Card class="flush" title={t(oneUserTexts.factors)}>
      <Read of={factors}>
        {({ factors: found = [] }) =>
          found.length === 0 ? (
            <Empty>{t(oneUserTexts.noFactors)}</Empty>
          ) : (
            <table aria-label={t(oneUserTexts.factors)}>
              <tbody>
                {found.map((factor) => (
                  <tr key={factor.id}>
                    <td>
                      <FactorName factor={factor} />
                    </td>
                    <td class="minor quiet">
                      {t(oneUserTexts.lastUsed)}:{" "}
                      {factor.lastUsedDate ? <Time at={factor.lastUsedDate} /> : t(oneUserTexts.never)}
                    </td>
                    <td class="acts">
                      {mayRemove && (
                        <Ask
                          text={t(objectTexts.remove)}
                          title={t(oneUserTexts.removeFactor)}
                          kind="danger"
                          about={t(oneUserTexts.removeFactorAbout)}
                          act={remove(factor.id ?? "")}
                        />
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Read>
    </Card>
  );
}

const kinds = {
  FACTOR_KIND_TOTP: "TOTP",
  FACTOR_KIND_PASSKEY: "PASSKEY",
  FACTOR_KIND_RECOVERY_CODES: "RECOVERY_CODES",
} as const;

function FactorName({ factor: { kind, name, codesLeft } }: { readonly factor: FactorJson }) {
  const known = kinds[kind as keyof typeof kinds];
  return (
    <div>
      <b>{known ? t(oneUserTexts[known]) : kind}</b>{" "}
      <span class="quiet">
        {known === "RECOVERY_CODES" ? t(oneUserTexts.codesLeft, { count: codesLeft ?? 0 }) : name}
      </span>
    </div>
  );
}
