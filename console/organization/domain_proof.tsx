import type { DomainJson } from "../../gen/postern/v1/domain_pb.ts";
import { Id } from "../parts/copy.tsx";
import { Facts } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { domainTexts } from "../texts/domains.ts";
import { t } from "../texts/text.ts";

/** The proof of a domain: the record to publish, and the latest answer of DNS. */
export function DomainProof({ domain }: { readonly domain: DomainJson }) {
  if (domain.withoutDns) return <p class="quiet">{t(domainTexts.byInstance)}</p>;
  const isProven = domain.state === "DOMAIN_STATE_VERIFIED";
  return (
    <>
      <Warning of={domain} />
      {isProven ? (
        <details>
          <summary>{t(domainTexts.record)}</summary>
          <TxtRecord of={domain} />
        </details>
      ) : (
        <>
          <p class="quiet">{t(domainTexts.publish)}</p>
          <TxtRecord of={domain} />
        </>
      )}
      <Checks of={domain} />
    </>
  );
}

function Warning({ of: { state, missingSince } }: { readonly of: DomainJson }) {
  if (state === "DOMAIN_STATE_LOST") return <p class="bad">{t(domainTexts.lostAbout)}</p>;
  if (state !== "DOMAIN_STATE_RECORD_MISSING") return null;
  return (
    <p class="bad">
      {t(domainTexts.missingAbout)} {missingSince && <Time at={missingSince} exact />}
    </p>
  );
}

function TxtRecord({ of: { record } }: { readonly of: DomainJson }) {
  return (
    <div class="record">
      <Facts
        facts={[
          [t(domainTexts.type), <code>TXT</code>],
          [t(domainTexts.recordName), <Id>{record?.name ?? ""}</Id>],
          [t(domainTexts.value), <Id>{record?.value ?? ""}</Id>],
        ]}
      />
    </div>
  );
}

function Checks({ of: { lastCheck, nextCheckDate } }: { readonly of: DomainJson }) {
  const result = lastCheck?.result?.replace("DOMAIN_CHECK_RESULT_", "") as "FOUND" | "MISSING" | "FAILED" | "TAKEN";
  return (
    <p class="quiet checks-of">
      <span>
        {t(domainTexts.lastCheck)}:{" "}
        {lastCheck?.date ? (
          <>
            <Time at={lastCheck.date} /> – {result in domainTexts ? t(domainTexts[result]) : result}
            {lastCheck.answer && (
              <>
                {" "}
                (<code>{lastCheck.answer}</code>)
              </>
            )}
          </>
        ) : (
          t(domainTexts.never)
        )}
      </span>
      {nextCheckDate && (
        <span>
          {t(domainTexts.nextCheck)}: <Time at={nextCheckDate} />
        </span>
      )}
    </p>
  );
}
