import type { UserJson } from "../../gen/postern/v1/user_pb.ts";
import { call } from "../calls/client.ts";
import { useList } from "../calls/use_list.ts";
import { Ask } from "../parts/ask.tsx";
import { Badge } from "../parts/badge.tsx";
import type { Submission } from "../parts/form.tsx";
import { List } from "../parts/list.tsx";
import { Card, Empty } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { may } from "../sign_in/me.ts";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { oneUserTexts } from "../texts/user.ts";

/** The applications that know the user. */
export function Applications({ user }: { readonly user: UserJson }) {
  const userId = user.id ?? "";
  const list = useList(
    "ConsentService/ListConnectedApplications",
    { userId },
    { rowsOf: ({ applications }) => applications },
  );
  const mayEnd = may("ConsentService/DisconnectApplication", { organizationId: user.details?.resourceOwner });
  const disconnect =
    (appId: string) =>
    async ({ key }: Submission) => {
      await call("ConsentService/DisconnectApplication", { userId, appId }, { key });
      await list.reload();
    };
  return (
    <Card class="flush" title={t(oneUserTexts.connected)} about={t(oneUserTexts.connectedAbout)}>
      <List
        of={list}
        label={t(oneUserTexts.connected)}
        keyOf={({ appId = "" }) => appId}
        columns={[
          {
            title: t(oneUserTexts.application),
            cell: ({ name, organizationName }) => (
              <div class="who">
                <div>
                  <b>{name}</b>
                  <small>{organizationName}</small>
                </div>
              </div>
            ),
          },
          {
            title: t(oneUserTexts.scopes),
            cell: ({ scopes = [] }) => (
              <div class="badges">
                {scopes.map((scope) => (
                  <Badge key={scope}>{scope}</Badge>
                ))}
              </div>
            ),
            isMinor: true,
          },
          {
            title: t(oneUserTexts.lastSignIn),
            cell: ({ lastSignInDate }) => (lastSignInDate ? <Time at={lastSignInDate} /> : "–"),
            isMinor: true,
          },
          {
            title: t(partTexts.acts),
            cell: ({ appId = "" }) =>
              mayEnd && (
                <Ask
                  text={t(oneUserTexts.disconnect)}
                  kind="danger"
                  about={t(oneUserTexts.disconnectAbout)}
                  act={disconnect(appId)}
                />
              ),
            isActs: true,
          },
        ]}
        empty={<Empty>{t(oneUserTexts.noConnected)}</Empty>}
      />
    </Card>
  );
}
