import { afterAll, beforeAll, describe } from "vitest";
import { openPlanServer, type PlanServer } from "../plan_server.ts";
import { grantPlans } from "../plans/grant_plans.ts";
import { oldestAndLater } from "../postgres_versions.ts";

describe.each([...oldestAndLater().later])("PostgreSQL %i", (_, bin) => {
  let server: PlanServer;
  beforeAll(async () => {
    server = await openPlanServer(bin);
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  grantPlans(() => server);
});
