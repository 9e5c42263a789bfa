import { afterAll, beforeAll, describe } from "vitest";
import { openPlanServer, type PlanServer } from "./plan_server.ts";
import { delegationPlans } from "./plans/delegation_plans.ts";
import { documentPlans } from "./plans/document_plans.ts";
import { grantPlans } from "./plans/grant_plans.ts";
import { namePlans } from "./plans/name_plans.ts";
import { numberingPlans } from "./plans/numbering_plans.ts";
import { overviewPlans } from "./plans/overview_plans.ts";
import { oldestAndNewest } from "./postgres_versions.ts";

describe.each([...oldestAndNewest()])("PostgreSQL %i", (_, bin) => {
  let server: PlanServer;
  beforeAll(async () => {
    server = await openPlanServer(bin);
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  documentPlans(() => server);
  delegationPlans(() => server);
  grantPlans(() => server);
  namePlans(() => server);
  numberingPlans(() => server);
  overviewPlans(() => server);
});
