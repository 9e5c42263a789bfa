import type { ComponentChildren } from "preact";
import type { HumanUserJson, UserJson } from "../../gen/postern/v1/user_pb.ts";
import { call } from "../calls/client.ts";
import type { Version } from "../parts/conflict.tsx";
import { EditCard } from "../parts/edit_card.tsx";
import type { Draft, Field } from "../parts/field.tsx";
import { forgetName } from "../parts/names.tsx";
import type { Save } from "../parts/version_form.tsx";
import { may } from "../sign_in/me.ts";
import { t } from "../texts/text.ts";
import { oneUserTexts } from "../texts/user.ts";
import { userTexts } from "../texts/users.ts";
import { Contact } from "./contact.tsx";
import { UserMetadata } from "./metadata.tsx";
import { StateActs } from "./state_acts.tsx";
import type { UserPart } from "./user_part.ts";

/** The user's name and contact data. */
export function Profile({ user, reading }: UserPart) {
  const { id: userId = "", human, details } = user;
  const mayEdit = may("UserService/UpdateHumanUser", { organizationId: details?.resourceOwner });
  const onSaved = () => {
    forgetName(userId);
    return reading.reload();
  };
  const given = { mayEdit, onSaved };
  const read = async () => (await call("UserService/GetUser", { userId })).user ?? {};
  return (
    <div class="cards">
      {human ? <PersonNames user={user} {...given} read={read} /> : <MachineName user={user} {...given} read={read} />}
      {human && <Contact user={user} onChanged={reading.reload} />}
      <LoginName user={user} {...given} read={read} />
      {human && <Postal user={user} {...given} read={read} />}
      {may("UserService/GetUserMetadata", { organizationId: details?.resourceOwner }) && (
        <UserMetadata user={user} reading={reading} />
      )}
      <StateActs user={user} signIn={reading.data?.signIn} onChanged={reading.reload} />
    </div>
  );
}

type CardProps = {
  readonly user: UserJson;
  readonly mayEdit: boolean;
  readonly onSaved: () => Promise<void>;
  readonly read: () => Promise<UserJson>;
};

const versionOf = (user: UserJson, values: (user: UserJson) => Draft): Version => ({
  values: values(user),
  sequence: user.details?.sequence ?? "0",
});

function PersonNames(props: CardProps) {
  const fields: Field[] = [
    { name: "givenName", label: t(userTexts.givenName) },
    { name: "familyName", label: t(userTexts.familyName) },
    { name: "language", label: t(oneUserTexts.language), help: t(oneUserTexts.languageAbout), isOptional: true },
  ];
  const values = ({ human }: UserJson): Draft => ({
    givenName: human?.givenName ?? "",
    familyName: human?.familyName ?? "",
    language: human?.language ?? "",
  });
  return (
    <HumanCard
      {...props}
      title={t(oneUserTexts.names)}
      fields={fields}
      values={values}
      toHuman={(changed) => changed}
    />
  );
}

const places = ["streetAddress", "postalCode", "locality", "region", "country"] as const;

function Postal(props: CardProps) {
  const labels = {
    streetAddress: oneUserTexts.street,
    postalCode: oneUserTexts.postalCode,
    locality: oneUserTexts.locality,
    region: oneUserTexts.region,
    country: oneUserTexts.country,
  };
  const fields = places.map(
    (name): Field => ({
      name,
      label: t(labels[name]),
      isOptional: true,
      ...(name === "streetAddress" ? { kind: "area" } : {}),
    }),
  );
  const values = ({ human }: UserJson): Draft =>
    Object.fromEntries(places.map((name) => [name, human?.address?.[name] ?? ""]));
  const toHuman = (changed: Draft) => ({ address: changed });
  const { streetAddress, postalCode, locality, region, country } = props.user.human?.address ?? {};
  const lines = [streetAddress, [postalCode, locality].filter(Boolean).join(" "), region, country].filter(Boolean);
  const summary = lines.length > 0 ? <p class="address">{lines.join("\n")}</p> : <p class="quiet">–</p>;
  const given = { title: t(oneUserTexts.postal), fields, values, toHuman, summary };
  return <HumanCard {...props} {...given} />;
}

type HumanCardProps = CardProps & {
  readonly title: string;
  readonly fields: readonly Field[];
  readonly values: (user: UserJson) => Draft;
  readonly summary?: ComponentChildren;
  readonly toHuman: (changed: Draft) => Draft | { readonly address: Draft };
};

function HumanCard({ user, read, title, fields, values, toHuman, ...others }: HumanCardProps) {
  const save = ({ changed, expectedSequence, key }: Save) => {
    const human = toHuman(changed);
    const inside = "address" in human ? "address." : "";
    const updateMask = Object.keys(changed)
      .map((name) => inside + name)
      .join(",");
    const request = { userId: user.id ?? "", human: human as HumanUserJson, updateMask, expectedSequence };
    return call("UserService/UpdateHumanUser", request, { key });
  };
  return (
    <EditCard
      {...others}
      title={title}
      fields={fields}
      version={versionOf(user, values)}
      read={async () => versionOf(await read(), values)}
      save={save}
    />
  );
}

function MachineName({ user, read, ...others }: CardProps) {
  const values = ({ machine }: UserJson): Draft => ({ name: machine?.name ?? "" });
  const save = ({ changed, expectedSequence, key }: Save) =>
    call("UserService/UpdateMachineUser", { userId: user.id ?? "", machine: changed, expectedSequence }, { key });
  return (
    <EditCard
      {...others}
      title={t(oneUserTexts.names)}
      fields={[{ name: "name", label: t(userTexts.name) }]}
      version={versionOf(user, values)}
      read={async () => versionOf(await read(), values)}
      save={save}
    />
  );
}

function LoginName({ user, read, ...others }: CardProps) {
  const values = ({ username = "" }: UserJson): Draft => ({ username });
  const save = ({ changed, expectedSequence, key }: Save) => {
    const request = { userId: user.id ?? "", username: String(changed.username), expectedSequence };
    return call("UserService/ChangeUsername", request, { key });
  };
  return (
    <EditCard
      {...others}
      title={t(oneUserTexts.loginName)}
      summary={<p>{user.username}</p>}
      fields={[{ name: "username", label: t(userTexts.username), help: t(userTexts.usernameAbout) }]}
      version={versionOf(user, values)}
      read={async () => versionOf(await read(), values)}
      save={save}
    />
  );
}
