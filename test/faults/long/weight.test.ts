import { describe } from "vitest";
import { oldestAndLater } from "../postgres_versions.ts";
import { weigh } from "../weight.ts";

describe.each([...oldestAndLater().later])("PostgreSQL %i", (_, bin) => weigh(bin));
