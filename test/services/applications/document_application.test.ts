import { expect, test } from "vitest";
import { systemCall } from "../../../src/deps.ts";
import { documentApplications } from "../../../src/services/applications/document_application.ts";
import { startPostern } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
import { application } from "../../provider/application.ts";
import { type Handlers, openHandlers } from "../../sent_statements.ts";

const nodes = 12;

test("of many clients that come to a full project at once, on many nodes, each makes room for itself and none waits for another", async () => {
  await using postern = await startPostern();
  await using opened = new AsyncDisposableStack();
  const { projectId, appId } = await application(postern.admin);
  await ask(
    postern.databaseUrl,
    `insert into applications (owner, app_id, project_id, name, client_id, oidc, is_document, version, created, changed)
     select owner, 'full-' || n, project_id, 'https://h.example/' || n, 'https://h.example/' || n, '{}', true, 1,
       now() - interval '1 day' + n * interval '1 s', now()
     from applications cross join generate_series(1, 1000) n where app_id = '${appId}'`,
  );
  const all: Handlers[] = Array.from({ length: nodes }, () => opened.use(openHandlers(postern)));
  const owner = postern.organizationId;
  const problems = await Promise.all(
    all.flatMap(({ deps }, node) => {
      const admit = documentApplications(deps);
      const clients = Array.from({ length: 5 }, (_, n) => `https://new.example/${node}/${n}`);
      return clients.map((clientId) => admit({ owner, projectId, clientId }, systemCall("r")));
    }),
  );
  expect(problems).toEqual(Array(5 * nodes).fill(undefined));
  const left = await ask<{ name: string }>(postern.databaseUrl, "select name from applications where is_document");
  expect(left.filter(({ name }) => name.startsWith("https://new.example/"))).toHaveLength(5 * nodes);
  expect(left).toHaveLength(1_000);
});
