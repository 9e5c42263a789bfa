with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, project text, granted text, keys jsonb)
)
select n, o.active as "organizationActive", p.active as "projectActive",
               w.active as "ownerActive", case when not g.deleted then g.project_grant_id end as "grantId",
               g.deleted is true as "isBeingDeleted",
               case when o.requires_acceptance then o.organization_id end as "decidedBy",
               (
    select v.invitation_id from invitations v
    where (v.recipient_id, v.kind, v.object_id, v.owner) = (asked.granted, 'project_grant', asked.project, asked.owner)) as "offeredAs",
               array(select r.role_key from project_roles r
                     where r.project_id = p.project_id
                       and r.role_key in (select jsonb_array_elements_text(asked.keys))) as known
             from asked join projects p on p.owner = asked.owner and p.project_id = asked.project
             join organizations w on w.organization_id = p.owner
             left join organizations o on o.organization_id = asked.granted and not o.deleted
             left join all_project_grants g
               on g.project_id = p.project_id and g.granted_organization_id = asked.granted;

-- appends: facts/project_grant.created.sql

select count(*)::integer as count from (select from invitations v where v.owner = $1 limit $2) v;

-- appends: facts/invitation.created.sql
