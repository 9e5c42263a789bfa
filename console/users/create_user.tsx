import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import { Ask } from "../parts/ask.tsx";
import type { Draft, Field } from "../parts/field.tsx";
import type { Submission } from "../parts/form.tsx";
import { say } from "../parts/toasts.tsx";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";
import { userTexts } from "../texts/users.ts";

type CreateUserProps = { readonly onCreated: (userId: string) => void; readonly isOpen: boolean };

/** Creates a person or a machine, and goes to its page. */
export function CreateUser({ onCreated, isOpen }: CreateUserProps) {
  const act = async ({ draft, key }: Submission) => {
    const options = { key, organizationId: organizationId.value };
    const { userId = "" } = isHuman(draft)
      ? await call("UserService/CreateHumanUser", humanOf(draft), options)
      : await call(
          "UserService/CreateMachineUser",
          { username: text(draft.username), name: text(draft.name) },
          options,
        );
    say(t(userTexts.userCreated));
    onCreated(userId);
  };
  return (
    <Ask
      text={t(shellTexts.createUser)}
      icon="plus"
      kind="main"
      id="create-user"
      isOpenAtFirst={isOpen}
      fields={fields()}
      values={{ kind: "human", isEmailVerified: false, begins: "invitation" }}
      act={act}
    />
  );
}

const text = (value: Draft[string] | undefined): string => (typeof value === "string" ? value.trim() : "");
const isHuman = ({ kind }: Draft): boolean => kind === "human";
const isMachine = ({ kind }: Draft): boolean => kind === "machine";

function fields(): readonly Field[] {
  return [
    {
      name: "kind",
      label: t(userTexts.kind),
      kind: "cards",
      options: [
        { value: "human", label: t(userTexts.person), help: t(userTexts.personAbout) },
        { value: "machine", label: t(userTexts.machine), help: t(userTexts.machineAbout) },
      ],
    },
    { name: "givenName", label: t(userTexts.givenName), isShown: isHuman },
    { name: "familyName", label: t(userTexts.familyName), isShown: isHuman },
    { name: "email", label: t(userTexts.email), kind: "email", isShown: isHuman },
    {
      name: "isEmailVerified",
      label: t(userTexts.emailIsVerified),
      kind: "switch",
      help: t(userTexts.emailIsVerifiedAbout),
      isShown: isHuman,
    },
    { name: "name", label: t(userTexts.name), isShown: isMachine },
    { name: "username", label: t(userTexts.username), help: t(userTexts.usernameAbout) },
    { name: "phone", label: t(userTexts.phone), kind: "tel", isOptional: true, isShown: isHuman },
    {
      name: "password",
      label: t(userTexts.password),
      kind: "password",
      autoComplete: "new-password",
      isOptional: true,
      help: t(userTexts.firstPasswordAbout),
      isShown: isHuman,
    },
  ];
}

function humanOf(draft: Draft) {
  const password = typeof draft.password === "string" ? draft.password : "";
  return {
    username: text(draft.username),
    givenName: text(draft.givenName),
    familyName: text(draft.familyName),
    email: text(draft.email),
    isEmailVerified: draft.isEmailVerified === true,
    ...(text(draft.phone) ? { phone: text(draft.phone) } : {}),
    // The administrator who sets it knows it, so it has to be changed.
    ...(password ? { password, passwordChangeRequired: true } : {}),
  };
}
