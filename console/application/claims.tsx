import type { ApplicationJson, ClaimPlaceJson, DeclaredClaimJson } from "../../gen/postern/v1/application_pb.ts";
import { atVersion } from "../calls/at_version.ts";
import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import { Ask } from "../parts/ask.tsx";
import { Badge } from "../parts/badge.tsx";
import type { Draft, Field } from "../parts/field.tsx";
import type { Submission } from "../parts/form.tsx";
import { List } from "../parts/list.tsx";
import { Menu } from "../parts/menu.tsx";
import { Card, Empty } from "../parts/page.tsx";
import { say } from "../parts/toasts.tsx";
import { may } from "../sign_in/me.ts";
import { credentialTexts } from "../texts/credentials.ts";
import { objectTexts } from "../texts/objects.ts";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import type { ApplicationPart } from "./application_part.ts";

type Claims = readonly DeclaredClaimJson[];

/** The claims that the application declares, each with the source of its value and the places where it appears. */
export function DeclaredClaims({ application, projectId, onChanged }: ApplicationPart) {
  const about = { projectId, appId: application.id ?? "" };
  const claims = claimsOf(application);
  const mayWrite = may("ApplicationService/UpdateOidcApplication", { projectId });
  const write = async (after: Claims, key: string) => {
    const options = { organizationId: organizationId.value };
    await atVersion({
      seen: { value: claims, sequence: application.details?.sequence ?? "0" },
      read: async () => {
        const { application: now = {} } = await call("ApplicationService/GetApplication", about, options);
        return { value: claimsOf(now), sequence: now.details?.sequence ?? "0" };
      },
      write: (expectedSequence, once) =>
        call(
          "ApplicationService/UpdateOidcApplication",
          { ...about, application: { declaredClaims: [...after] }, updateMask: "declaredClaims", expectedSequence },
          { ...options, key: once },
        ),
      key,
    }).finally(onChanged);
    say(t(partTexts.saved));
  };
  const isTaken = ({ name }: Draft) =>
    claims.some((one) => one.name?.toLowerCase() === String(name).toLowerCase())
      ? { field: "name", text: t(credentialTexts.claimTaken) }
      : undefined;
  return (
    <Card
      class="flush"
      title={t(credentialTexts.claims)}
      about={t(credentialTexts.claimsAbout)}
      actions={
        mayWrite && (
          <Ask
            text={t(credentialTexts.addClaim)}
            icon="plus"
            id="add-claim"
            fields={fields()}
            values={{ name: "", source: "userMetadata", of: "", places: ["CLAIM_PLACE_ID_TOKEN"] }}
            check={isTaken}
            act={({ draft, key }: Submission) => write([...claims, claimOf(draft)], key)}
          />
        )
      }
    >
      <List
        of={{ rows: claims, refusal: undefined, isLoading: false, hasMore: false, more: onChanged, reload: onChanged }}
        label={t(credentialTexts.claims)}
        keyOf={({ name = "" }) => name}
        columns={[
          { title: t(credentialTexts.claim), cell: ({ name }) => <code>{name}</code> },
          { title: t(credentialTexts.value), cell: (claim) => <Source of={claim} />, isMinor: true },
          { title: t(credentialTexts.places), cell: ({ places = [] }) => <Places of={places} /> },
          {
            title: t(partTexts.acts),
            cell: (claim) => mayWrite && <Acts claim={claim} claims={claims} write={write} />,
            isActs: true,
          },
        ]}
        empty={<Empty>{t(credentialTexts.noClaims)}</Empty>}
      />
    </Card>
  );
}

const claimsOf = ({ oidc }: ApplicationJson): Claims => oidc?.declaredClaims ?? [];

const sources = ["userMetadata", "organizationMetadata", "roles", "role"] as const;
const placeNames = ["ID_TOKEN", "ACCESS_TOKEN", "USERINFO"] as const;

const fields = (): readonly Field[] => [
  { name: "name", label: t(credentialTexts.claim), help: t(credentialTexts.claimAbout) },
  {
    name: "source",
    label: t(credentialTexts.value),
    kind: "choice",
    options: sources.map((value) => ({ value, label: t(credentialTexts[value]) })),
  },
  {
    name: "of",
    label: t(credentialTexts.metadataKey),
    isShown: ({ source }) => String(source).endsWith("Metadata"),
  },
  { name: "role", label: t(credentialTexts.roleKey), isShown: ({ source }) => source === "role" },
  {
    name: "places",
    label: t(credentialTexts.places),
    kind: "checks",
    options: placeNames.map((name) => ({ value: `CLAIM_PLACE_${name}`, label: t(credentialTexts[name]) })),
  },
];

const claimOf = ({ name, source, of, role, places }: Draft): DeclaredClaimJson => ({
  name: String(name),
  [String(source)]: source === "roles" ? {} : source === "role" ? String(role ?? "") : String(of),
  places: (typeof places === "object" ? [...places] : []) as ClaimPlaceJson[],
});

const sourceIn = (claim: DeclaredClaimJson) => sources.find((name) => claim[name] !== undefined) ?? "userMetadata";

function draftOf(claim: DeclaredClaimJson): Draft {
  const { name = "", userMetadata, organizationMetadata, role = "", places = [] } = claim;
  return { name, source: sourceIn(claim), of: userMetadata ?? organizationMetadata ?? "", role, places };
}

function Source({ of }: { readonly of: DeclaredClaimJson }) {
  const said = of.userMetadata ?? of.organizationMetadata ?? of.role;
  return (
    <>
      {t(credentialTexts[sourceIn(of)])} {said && <code>{said}</code>}
    </>
  );
}

function Places({ of }: { readonly of: readonly string[] }) {
  return (
    <div class="badges">
      {placeNames
        .filter((name) => of.includes(`CLAIM_PLACE_${name}`))
        .map((name) => (
          <Badge key={name}>{t(credentialTexts[name])}</Badge>
        ))}
    </div>
  );
}

type ActsProps = {
  readonly claim: DeclaredClaimJson;
  readonly claims: Claims;
  readonly write: (after: Claims, key: string) => Promise<void>;
};

function Acts({ claim, claims, write }: ActsProps) {
  const { name = "" } = claim;
  const replaced = (draft: Draft) => claims.map((one) => (one.name === name ? claimOf({ ...draft, name }) : one));
  return (
    <Menu>
      <Ask
        text={t(partTexts.edit)}
        title={name}
        submitText={t(partTexts.save)}
        fields={fields().slice(1)}
        values={draftOf(claim)}
        act={({ draft, key }: Submission) => write(replaced(draft), key)}
      />
      <Ask
        text={t(objectTexts.remove)}
        kind="danger"
        about={t(credentialTexts.removeClaimAbout, { name })}
        act={({ key }: Submission) =>
          write(
            claims.filter((one) => one.name !== name),
            key,
          )
        }
      />
    </Menu>
  );
}
