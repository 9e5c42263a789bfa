import { describe } from "vitest";
import { weighOutboxes } from "../outboxes.ts";
import { oldestAndLater } from "../postgres_versions.ts";

describe.each([...oldestAndLater().later])("PostgreSQL %i", (_, bin) => weighOutboxes(bin));
