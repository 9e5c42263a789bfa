select j.job_id as id, j.owner, j.type, j.stream, j.actor, j.request_id as "requestId", j.created, j.ended, j.written from jobs j
where j.owner = $1
order by j.job_id desc limit $2;

select j.job_id as id, j.owner, j.type, j.stream, j.actor, j.request_id as "requestId", j.created, j.ended, j.written from jobs j
where j.owner = $1
  and j.job_id < $2
order by j.job_id desc limit $3;

select j.job_id as id, j.owner, j.type, j.stream, j.actor, j.request_id as "requestId", j.created, j.ended, j.written from jobs j
where j.owner = $1
   and j.ended is null
order by j.job_id desc limit $2;

select j.job_id as id, j.owner, j.type, j.stream, j.actor, j.request_id as "requestId", j.created, j.ended, j.written from jobs j
where j.owner = $1
   and j.ended is not null
order by j.job_id desc limit $2;

select j.job_id as id, j.owner, j.type, j.stream, j.actor, j.request_id as "requestId", j.created, j.ended, j.written from jobs j
where true
order by j.job_id desc limit $1;

select j.job_id as id, j.owner, j.type, j.stream, j.actor, j.request_id as "requestId", j.created, j.ended, j.written from jobs j
where j.owner = $1
  and j.actor = $2
order by j.job_id desc limit $3;
