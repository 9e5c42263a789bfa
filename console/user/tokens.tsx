import { useSignal } from "@preact/signals";
import type { AccessTokenJson, UserJson } from "../../gen/postern/v1/user_pb.ts";
import { call } from "../calls/client.ts";
import { useList } from "../calls/use_list.ts";
import { Ask } from "../parts/ask.tsx";
import { Badge } from "../parts/badge.tsx";
import type { Submission } from "../parts/form.tsx";
import { List } from "../parts/list.tsx";
import { Once } from "../parts/once.tsx";
import { Card, Empty } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { may } from "../sign_in/me.ts";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { oneUserTexts } from "../texts/user.ts";

/** The tokens that programs use in the user's name. */
export function Tokens({ user }: { readonly user: UserJson }) {
  const userId = user.id ?? "";
  const secret = useSignal<string | undefined>(undefined);
  const tokens = useList("UserService/ListAccessTokens", { userId }, { rowsOf: ({ tokens }) => tokens });
  const mayCreate = may("UserService/CreateAccessToken", { organizationId: user.details?.resourceOwner });
  const create = async ({ draft, key }: Submission) => {
    const date = typeof draft.expires === "string" && draft.expires ? new Date(`${draft.expires}T23:59:59`) : undefined;
    const request = { userId, name: String(draft.name), ...(date ? { expirationDate: date.toISOString() } : {}) };
    const { token } = await call("UserService/CreateAccessToken", request, { key });
    secret.value = token;
    await tokens.reload();
  };
  const revoke =
    (tokenId: string) =>
    async ({ key }: Submission) => {
      await call("UserService/RevokeAccessToken", { userId, tokenId }, { key });
      await tokens.reload();
    };
  return (
    <Card
      class="flush"
      title={t(oneUserTexts.tokens)}
      actions={
        mayCreate && (
          <Ask
            text={t(oneUserTexts.createToken)}
            icon="plus"
            fields={[
              { name: "name", label: t(oneUserTexts.tokenName) },
              {
                name: "expires",
                label: t(oneUserTexts.tokenExpires),
                kind: "date",
                isOptional: true,
                help: t(oneUserTexts.tokenExpiresAbout),
              },
            ]}
            values={{ name: "", expires: "" }}
            act={create}
          />
        )
      }
    >
      <List
        of={tokens}
        label={t(oneUserTexts.tokens)}
        keyOf={({ id = "" }) => id}
        columns={[
          { title: t(oneUserTexts.token), cell: (token) => <Name token={token} /> },
          {
            title: t(oneUserTexts.lastUsed),
            cell: ({ lastUsedDate }) => (lastUsedDate ? <Time at={lastUsedDate} /> : t(oneUserTexts.never)),
            isMinor: true,
          },
          {
            title: t(oneUserTexts.expires),
            cell: ({ expirationDate }) => (expirationDate ? <Time at={expirationDate} /> : t(oneUserTexts.never)),
            isMinor: true,
          },
          {
            title: t(partTexts.acts),
            cell: ({ id = "" }) =>
              mayCreate && (
                <Ask text={t(oneUserTexts.revoke)} kind="danger" about={t(oneUserTexts.revokeAbout)} act={revoke(id)} />
              ),
            isActs: true,
          },
        ]}
        empty={<Empty>{t(oneUserTexts.noTokens)}</Empty>}
      />
      <Once title={t(oneUserTexts.token)} about={t(oneUserTexts.tokenOnce)} secret={secret} />
    </Card>
  );
}

function Name({ token: { id = "", name, permissions = [] } }: { readonly token: AccessTokenJson }) {
  return (
    <div>
      <b>{name || id}</b>
      <div class="badges">
        {permissions.map((one) => (
          <Badge key={one}>{one}</Badge>
        ))}
      </div>
    </div>
  );
}
