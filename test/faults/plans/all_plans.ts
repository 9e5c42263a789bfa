import { afterAll, beforeAll } from "vitest";
import { openPlanServer, type PlanServer } from "../plan_server.ts";
import { delegationPlans } from "./delegation_plans.ts";
import { documentPlans } from "./document_plans.ts";
import { grantPlans } from "./grant_plans.ts";
import { namePlans } from "./name_plans.ts";
import { numberingPlans } from "./numbering_plans.ts";
import { overviewPlans } from "./overview_plans.ts";

/** Declares the tests of plans, on the PostgreSQL whose programs are in `bin`. */
export function allPlans(bin: string): void {
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
}
