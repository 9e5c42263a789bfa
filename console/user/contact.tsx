import type { UserJson } from "../../gen/postern/v1/user_pb.ts";
import { call } from "../calls/client.ts";
import { Ask } from "../parts/ask.tsx";
import { Badge } from "../parts/badge.tsx";
import type { Draft, Field } from "../parts/field.tsx";
import type { Submission } from "../parts/form.tsx";
import { Card } from "../parts/page.tsx";
import { say } from "../parts/toasts.tsx";
import { may } from "../sign_in/me.ts";
import { t } from "../texts/text.ts";
import { oneUserTexts } from "../texts/user.ts";
import { userTexts } from "../texts/users.ts";

type ContactProps = { readonly user: UserJson; readonly onChanged: () => Promise<void> };

/** The addresses for mails and SMS, and whether they are verified. */
export function Contact(props: ContactProps) {
  const { human } = props.user;
  return (
    <Card title={t(oneUserTexts.contact)}>
      <div class="contact">
        <Way name={t(userTexts.email)} value={human?.email} isVerified={human?.emailVerified} />
        <EmailActs {...props} />
        <Way name={t(userTexts.phone)} value={human?.phone} isVerified={human?.phoneVerified} />
        <PhoneActs {...props} />
      </div>
    </Card>
  );
}

type WayProps = { readonly name: string; readonly value: string | undefined; readonly isVerified: boolean | undefined };

function Way({ name, value, isVerified }: WayProps) {
  return (
    <div class="way">
      <span class="quiet">{name}</span>
      <div>
        {value ? <bdi>{value}</bdi> : <span class="quiet">–</span>}
        {value && (
          <Badge tone={isVerified ? "good" : "warn"}>
            {t(isVerified ? oneUserTexts.verified : oneUserTexts.unverified)}
          </Badge>
        )}
      </div>
    </div>
  );
}

const confirmation = (send: string): Field => ({
  name: "confirmation",
  label: t(oneUserTexts.confirmation),
  kind: "cards",
  options: [
    { value: "send", label: send, help: t(oneUserTexts.sendAbout) },
    { value: "verified", label: t(oneUserTexts.isVerified), help: t(oneUserTexts.isVerifiedAbout) },
    { value: "later", label: t(oneUserTexts.later), help: t(oneUserTexts.laterAbout) },
  ],
});

/** The way to confirm the address, as the call names it. */
const modeOf = ({ confirmation: chosen }: Draft) =>
  chosen === "send" ? { sendCode: {} } : { isVerified: chosen === "verified" };

function EmailActs({ user, onChanged }: ContactProps) {
  const userId = user.id ?? "";
  if (!may("UserService/ChangeEmail", { organizationId: user.details?.resourceOwner })) return null;
  const change = async ({ draft, key }: Submission) => {
    await call("UserService/ChangeEmail", { userId, email: String(draft.email), ...modeOf(draft) }, { key });
    say(t(oneUserTexts.emailChanged));
    await onChanged();
  };
  const resend = async ({ key }: Submission) => {
    await call("UserService/ResendEmailCode", { userId, sendCode: {} }, { key });
    say(t(oneUserTexts.codeSent));
  };
  return (
    <div class="actions">
      <Ask
        text={t(oneUserTexts.changeEmail)}
        id="change-email"
        fields={[{ name: "email", label: t(userTexts.email), kind: "email" }, confirmation(t(oneUserTexts.sendMail))]}
        values={{ email: user.human?.email ?? "", confirmation: "send" }}
        act={change}
      />
      {user.human?.email && !user.human.emailVerified && (
        <Ask text={t(oneUserTexts.resend)} about={t(oneUserTexts.resendAbout)} act={resend} />
      )}
    </div>
  );
}

function PhoneActs({ user, onChanged }: ContactProps) {
  const userId = user.id ?? "";
  const { phone = "", phoneVerified } = user.human ?? {};
  if (!may("UserService/ChangePhone", { organizationId: user.details?.resourceOwner })) return null;
  const change = async ({ draft, key }: Submission) => {
    await call("UserService/ChangePhone", { userId, phone: String(draft.phone), ...modeOf(draft) }, { key });
    say(t(draft.confirmation === "send" ? oneUserTexts.codeSent : oneUserTexts.phoneChanged));
    await onChanged();
  };
  const resend = async ({ key }: Submission) => {
    await call("UserService/ResendPhoneCode", { userId, sendCode: {} }, { key });
    say(t(oneUserTexts.codeSent));
  };
  const remove = async ({ key }: Submission) => {
    await call("UserService/RemovePhone", { userId }, { key });
    await onChanged();
  };
  return (
    <div class="actions">
      <Ask
        text={t(phone ? oneUserTexts.changePhone : oneUserTexts.addPhone)}
        id="change-phone"
        fields={[
          { name: "phone", label: t(userTexts.phone), kind: "tel", help: t(oneUserTexts.phoneAbout) },
          confirmation(t(oneUserTexts.sendSms)),
        ]}
        values={{ phone, confirmation: "send" }}
        act={change}
      />
      {phone && !phoneVerified && (
        <Ask text={t(oneUserTexts.resend)} about={t(oneUserTexts.resendAbout)} act={resend} />
      )}
      {phone && (
        <Ask text={t(oneUserTexts.removePhone)} kind="danger" about={t(oneUserTexts.removePhoneAbout)} act={remove} />
      )}
    </div>
  );
}
