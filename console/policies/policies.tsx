import { call, type Request } from "../calls/client.ts";
import { useCall } from "../calls/use_call.ts";
import type { Version } from "../parts/conflict.tsx";
import { EditCard } from "../parts/edit_card.tsx";
import { Card, Read } from "../parts/page.tsx";
import type { Save } from "../parts/version_form.tsx";
import { may } from "../sign_in/me.ts";
import { t } from "../texts/text.ts";
import { type PolicyKind, type PolicyName, type PolicyOf, policyKinds } from "./kinds.ts";
import { Back, type Owner, ownerOf, type Standing, Whose } from "./standing.tsx";

/** The policies of an organization, or of the instance. */
export function Policies({ of }: { readonly of: Owner }) {
  const names = (Object.keys(policyKinds) as PolicyName[]).filter(
    (name) =>
      policyKinds[name].only !== (of.organizationId ? "instance" : "organization") &&
      may(`PolicyService/Get${name}Policy`, of),
  );
  return (
    <div class="cards policies">
      {names.map((name) => (
        <Policy key={name} name={name} of={of} />
      ))}
    </div>
  );
}

/** The response of all calls that read a policy; calls for a policy that exists only once leave out the default. */
type PolicyAnswer = Standing & { readonly policy?: PolicyOf[PolicyName] };
type Setting = `PolicyService/Set${PolicyName}Policy`;

function Policy({ name, of }: { readonly name: PolicyName; readonly of: Owner }) {
  const kind = policyKinds[name] as PolicyKind;
  const { organizationId } = of;
  const about = of.organizationId || kind.only ? {} : { instance: true };
  const reading = useCall(`PolicyService/Get${name}Policy`, about, { organizationId });
  const answer = reading.data as PolicyAnswer | undefined;
  const head = { title: t(kind.title), about: t(kind.about) };
  if (!answer)
    return (
      <Card {...head}>
        <Read of={reading}>{() => null}</Read>
      </Card>
    );
  const versionOf = (now: PolicyAnswer): Version => ({
    values: kind.valuesOf(now.policy ?? {}),
    sequence: ownerOf(now, of) === "own" ? (now.details?.sequence ?? "0") : "0",
  });
  const read = async () => versionOf(await call(`PolicyService/Get${name}Policy`, about, { organizationId }));
  const save = ({ draft, expectedSequence, key }: Save) => {
    const request = { ...about, policy: kind.policyOf(draft), expectedSequence } as Request<Setting>;
    return call(`PolicyService/Set${name}Policy`, request, { organizationId, key });
  };
  const reset = (key: string) => call(`PolicyService/Reset${name}Policy`, about, { organizationId, key });
  const mayEdit = may(`PolicyService/Set${name}Policy`, of);
  return (
    <EditCard
      {...head}
      beside={<Whose standing={answer} of={of} />}
      fields={kind.fields()}
      version={versionOf(answer)}
      mayEdit={mayEdit}
      read={read}
      save={save}
      onSaved={reading.reload}
      actions={mayEdit && <Back standing={answer} of={of} to={kind.back} reset={reset} onDone={reading.reload} />}
    />
  );
}
