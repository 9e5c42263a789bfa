import type { SessionJson } from "../../gen/postern/v1/session_pb.ts";
import type { UserJson } from "../../gen/postern/v1/user_pb.ts";
import { call } from "../calls/client.ts";
import { useList } from "../calls/use_list.ts";
import { Ask } from "../parts/ask.tsx";
import type { Submission } from "../parts/form.tsx";
import { List } from "../parts/list.tsx";
import { Card, Empty } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { oneUserTexts } from "../texts/user.ts";

/** The user's sessions. */
export function Sessions({ user }: { readonly user: UserJson }) {
  const userId = user.id ?? "";
  const sessions = useList("SessionService/ListSessions", { userId }, { rowsOf: ({ sessions }) => sessions });
  const end =
    (sessionId: string) =>
    async ({ key }: Submission) => {
      await call("SessionService/DeleteSession", { sessionId }, { key });
      await sessions.reload();
    };
  const endAll = async ({ key }: Submission) => {
    await call("SessionService/DeleteUserSessions", { userId }, { key });
    await sessions.reload();
  };
  return (
    <Card
      class="flush"
      title={t(oneUserTexts.sessions)}
      actions={
        sessions.rows.length > 1 && (
          <Ask text={t(oneUserTexts.endAll)} kind="danger" about={t(oneUserTexts.endAllAbout)} act={endAll} />
        )
      }
    >
      <List
        of={sessions}
        label={t(oneUserTexts.sessions)}
        keyOf={({ id = "" }) => id}
        columns={[
          { title: t(oneUserTexts.device), cell: (session) => <Device session={session} /> },
          {
            title: t(oneUserTexts.lastUsed),
            cell: ({ lastUsedDate }) => (lastUsedDate ? <Time at={lastUsedDate} /> : "–"),
            isMinor: true,
          },
          { title: t(oneUserTexts.started), cell: ({ authTime }) => authTime && <Time at={authTime} />, isMinor: true },
          {
            title: t(partTexts.acts),
            cell: ({ id = "" }) => (
              <Ask text={t(oneUserTexts.endSession)} about={t(oneUserTexts.endSessionAbout)} act={end(id)} />
            ),
            isActs: true,
          },
        ]}
        empty={<Empty>{t(oneUserTexts.noSessions)}</Empty>}
      />
    </Card>
  );
}

function Device({ session: { lastUsedOrigin, origin } }: { readonly session: SessionJson }) {
  const { userAgent, address } = lastUsedOrigin ?? origin ?? {};
  return (
    <div class="who">
      <div>
        <span title={userAgent}>{userAgent ? deviceOf(userAgent) : "–"}</span>
        <small>{address}</small>
      </div>
    </div>
  );
}

const browsers = [
  ["Edg", "Edge"],
  ["OPR", "Opera"],
  ["Firefox", "Firefox"],
  ["Chrome", "Chrome"],
  ["Safari", "Safari"],
] as const;
const systems = [
  ["Android", "Android"],
  ["iPhone", "iOS"],
  ["iPad", "iPadOS"],
  ["Windows", "Windows"],
  ["Mac OS", "macOS"],
  ["Linux", "Linux"],
] as const;

/** A browser and its system in two words; for anything else, the whole text. */
function deviceOf(userAgent: string): string {
  const named = (list: readonly (readonly [string, string])[]) => list.find(([mark]) => userAgent.includes(mark))?.[1];
  return [named(browsers), named(systems)].filter(Boolean).join(" · ") || userAgent.slice(0, 60);
}
