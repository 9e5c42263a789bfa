import { inOrder, type Step } from "../../events/fold.ts";
import { connectionsEnd } from "../writing/connections_end.ts";
import { invitationsEnd } from "../writing/offer.ts";

// A user or project may have a lot, which is deleted first, so this selects only the next ones to delete.
const nextUsers = "(select * from users where owner = i.stream order by user_id limit 200)";
const nextProjects = "(select * from projects where owner = i.stream order by project_id limit 20)";

const ofUsers: readonly Step[] = [
  {
    makes: "user_grant.removed",
    select: `select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
             from $input i cross join lateral ${nextUsers} u join user_grants g on g.user_id = u.user_id`,
  },
  {
    makes: "member.removed",
    select: `select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
             from $input i cross join lateral ${nextUsers} u join members m on m.user_id = u.user_id`,
  },
  {
    makes: "session.ended",
    select: `select i.n, s.owner, s.session_id, s.version + 1, jsonb_build_object('userId', s.user_id)
             from $input i cross join lateral ${nextUsers} u join sessions s on s.user_id = u.user_id`,
  },
  {
    makes: "access_token.revoked",
    select: `select i.n, t.owner, t.token_id, t.version + 1, jsonb_build_object('userId', t.user_id)
             from $input i cross join lateral ${nextUsers} u join access_tokens t on t.user_id = u.user_id`,
  },
  {
    makes: "machine_credential.removed",
    select: `select i.n, c.owner, c.credential_id, c.version + 1, jsonb_build_object('userId', c.user_id)
             from $input i cross join lateral ${nextUsers} u join machine_credentials c on c.user_id = u.user_id`,
  },
  {
    makes: "user.deleted",
    isOneBatch: true,
    select: `select i.n, u.owner, u.user_id, u.version + 1, jsonb_build_object()
             from $input i cross join lateral ${nextUsers} u`,
  },
];

const ofProjects: readonly Step[] = [
  ...connectionsEnd({
    from: `cross join lateral ${nextProjects} p join applications a on a.project_id = p.project_id`,
    app: "a.app_id",
  }),
  {
    makes: "application.deleted",
    select: `select i.n, a.owner, a.app_id, a.version + 1, jsonb_build_object()
             from $input i cross join lateral ${nextProjects} p join applications a on a.project_id = p.project_id`,
  },
  {
    makes: "user_grant.removed",
    select: `select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
             from $input i cross join lateral ${nextProjects} p join user_grants g on g.project_id = p.project_id`,
  },
  {
    makes: "member.removed",
    select: `select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
             from $input i cross join lateral ${nextProjects} p join members m on m.project_id = p.project_id`,
  },
  {
    makes: "project_grant.revoked",
    select: `select i.n, g.owner, g.project_grant_id, g.version + 1, jsonb_build_object()
             from $input i cross join lateral ${nextProjects} p join project_grants g on g.project_id = p.project_id`,
  },
  invitationsEnd(`cross join lateral ${nextProjects} p join invitations v on v.project_id = p.project_id`),
  {
    makes: "project.deleted",
    isOneBatch: true,
    select: `select i.n, p.owner, p.project_id, p.version + 1, jsonb_build_object()
             from $input i cross join lateral ${nextProjects} p`,
  },
];

/** The objects deleted with an organization, in order; the organization itself goes last. */
export const whatItHas: readonly Step[] = [
  {
    makes: "domain.removed",
    select: `select i.n, d.owner, d.domain_id, d.version + 1, jsonb_build_object('name', d.name)
             from $input i join domains d on d.owner = i.stream`,
  },
  {
    makes: "invitation.withdrawn",
    select: `select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
             from $input i join invitations v on v.owner = i.stream`,
  },
  invitationsEnd(
    "join invitation_receivers r on r.receiver_id = i.stream join invitations v on v.invitation_id = r.invitation_id",
  ),
  {
    makes: "registration.expired",
    select: `select i.n, r.owner, r.registration_id, r.version + 1, jsonb_build_object()
             from $input i join registrations r on r.owner = i.stream`,
  },
  {
    makes: "subscription.deleted",
    select: `select i.n, s.owner, s.subscription_id, s.version + 1, jsonb_build_object()
             from $input i join subscriptions s on s.owner = i.stream`,
  },
  inOrder({
    makes: "user_grant.removed",
    table: "user_grants",
    same: [["r.owner", "i.stream"]],
    stream: "r.user_grant_id",
    select: (join) => `select i.n, r.owner, r.user_grant_id, r.version + 1, jsonb_build_object()
             from $input i ${join}`,
  }),
  ...ofUsers,
  ...ofProjects,
  {
    makes: "project_grant.revoked",
    select: `select i.n, g.owner, g.project_grant_id, g.version + 1, jsonb_build_object()
             from $input i join project_grants g on g.granted_organization_id = i.stream`,
  },
  {
    makes: "member.removed",
    select: `select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
             from $input i join members m on m.owner = i.stream`,
  },
  {
    makes: "organization.purged",
    select: `select i.n, o.organization_id, o.organization_id, o.version + 1, jsonb_build_object()
             from $input i join organizations o on o.organization_id = i.stream and o.deleted
             where not exists (select from all_users u where u.owner = i.stream)
               and not exists (select from all_projects p where p.owner = i.stream)
               and not exists (select from all_project_grants g where g.granted_organization_id = i.stream)
               and not exists (select from members m where m.owner = i.stream)
               and not exists (select from subscriptions s where s.owner = i.stream)
               and not exists (select from domains d where d.owner = i.stream)
               and not exists (select from invitations v where v.owner = i.stream)
               and not exists (select from invitation_receivers r where r.receiver_id = i.stream)
               and not exists (select from registrations r where r.owner = i.stream)`,
  },
];
