import type { DomainJson } from "../../gen/postern/v1/domain_pb.ts";
import { call } from "../calls/client.ts";
import { useList } from "../calls/use_list.ts";
import { Ask } from "../parts/ask.tsx";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import type { Field } from "../parts/field.tsx";
import { type Submission, useWriting } from "../parts/form.tsx";
import { ListOf } from "../parts/list.tsx";
import { Menu } from "../parts/menu.tsx";
import { Card, Empty } from "../parts/page.tsx";
import { say } from "../parts/toasts.tsx";
import { Trouble } from "../parts/trouble.tsx";
import { may } from "../sign_in/me.ts";
import { domainTexts } from "../texts/domains.ts";
import { objectTexts } from "../texts/objects.ts";
import { t } from "../texts/text.ts";
import { DomainProof } from "./domain_proof.tsx";

const tones = { PENDING: "warn", VERIFIED: "good", RECORD_MISSING: "bad", LOST: "off" } as const;

/** The domains of an organization, and their proofs. */
export function Domains({ organizationId }: { readonly organizationId: string }) {
  const domains = useList("DomainService/ListDomains", {}, { rowsOf: ({ domains }) => domains });
  const mayWrite = may("DomainService/AddDomain", { organizationId });
  const add = async ({ draft, key }: Submission) => {
    const request = { name: String(draft.name), ...(draft.withoutDns ? { withoutDns: true } : {}) };
    await call("DomainService/AddDomain", request, { organizationId, key });
    await domains.reload();
  };
  return (
    <Card
      class="flush"
      title={t(domainTexts.domains)}
      about={t(domainTexts.about)}
      actions={
        mayWrite && (
          <Ask
            text={t(domainTexts.add)}
            icon="plus"
            kind="main"
            id="add-domain"
            fields={[{ name: "name", label: t(domainTexts.name), help: t(domainTexts.nameAbout) }, ...withoutDns()]}
            values={{ name: "", withoutDns: false }}
            act={add}
          />
        )
      }
    >
      <ListOf of={domains} empty={<Empty>{t(domainTexts.none)}</Empty>}>
        {(rows) => (
          <ul class="rows">
            {rows.map((domain) => (
              <Domain
                key={domain.id}
                domain={domain}
                organizationId={organizationId}
                mayWrite={mayWrite}
                onDone={domains.reload}
              />
            ))}
          </ul>
        )}
      </ListOf>
    </Card>
  );
}

/** Owners of the instance may declare that a domain is an organization's. */
const withoutDns = (): readonly Field[] =>
  may("OrganizationService/CreateOrganization", { instance: true })
    ? [
        {
          name: "withoutDns",
          label: t(domainTexts.withoutDns),
          kind: "switch",
          help: t(domainTexts.withoutDnsAbout),
        },
      ]
    : [];

type DomainProps = {
  readonly domain: DomainJson;
  readonly organizationId: string;
  readonly mayWrite: boolean;
  readonly onDone: () => Promise<void>;
};

function Domain({ domain, organizationId, mayWrite, onDone }: DomainProps) {
  const { id: domainId = "", name = "", unicodeName } = domain;
  const state = domain.state?.replace("DOMAIN_STATE_", "") as keyof typeof tones | undefined;
  const writing = useWriting();
  const verify = async (key: string, given: { readonly withoutDns?: boolean } = {}) => {
    await call("DomainService/VerifyDomain", { domainId, ...given }, { organizationId, key });
    say(t(domainTexts.isVerified));
  };
  // A check that does not find the record fails, and the domain shows what was found.
  const check = () => writing.write(["check", domainId], verify).finally(onDone);
  const give = async ({ key }: Submission) => {
    await verify(key, { withoutDns: true });
    await onDone();
  };
  const remove = async ({ key }: Submission) => {
    await call("DomainService/RemoveDomain", { domainId }, { organizationId, key });
    await onDone();
  };
  const isOpen = state !== "VERIFIED";
  return (
    <li>
      <div class="row-head">
        <div>
          <b>{name}</b> {unicodeName && <bdi class="quiet">{unicodeName}</bdi>}{" "}
          {state && <Badge tone={tones[state]}>{t(domainTexts[state])}</Badge>}
        </div>
        {mayWrite && (
          <div class="actions">
            {isOpen && (
              <Button onClick={check} isBusy={writing.isBusy}>
                {t(domainTexts.check)}
              </Button>
            )}
            <Menu>
              {isOpen && withoutDns().length > 0 && (
                <Ask text={t(domainTexts.withoutDns)} about={t(domainTexts.withoutDnsAbout)} act={give} />
              )}
              <Ask
                text={t(objectTexts.remove)}
                kind="danger"
                about={t(domainTexts.removeAbout, { name })}
                act={remove}
              />
            </Menu>
          </div>
        )}
      </div>
      {writing.refusal && <Trouble refusal={writing.refusal} />}
      <DomainProof domain={domain} />
    </li>
  );
}
