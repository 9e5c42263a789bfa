import { describe } from "vitest";
import { allPlans } from "./plans/all_plans.ts";
import { oldestAndLater } from "./postgres_versions.ts";

describe.each([...oldestAndLater().oldest])("PostgreSQL %i", (_, bin) => allPlans(bin));
