import { randomBytes } from "node:crypto";
import type { Fixture } from "../fixture/organization.ts";
import type { Row } from "./matrix_rows.ts";

const own = async ({ newDomain }: Fixture) => ({ domainId: await newDomain() });

const read = { needs: "domain.read", decides: "organization" } as const;
const write = { needs: "domain.write", decides: "organization" } as const;

/** The rows of rpcs about domains. */
export const domainRows: Readonly<Record<string, Row>> = {
  // Each allowed one stays, and an organization has at most a hundred.
  "DomainService.AddDomain": {
    ...{ ...write, objectless: true },
    request: () => ({ name: `${randomBytes(6).toString("hex")}.example` }),
  },
  "DomainService.GetDomain": { ...read, request: own },
  "DomainService.ListDomains": { ...read, objectless: true, request: () => ({}) },
  // One that an owner of the instance gave is not looked up.
  "DomainService.VerifyDomain": { ...write, request: own },
  "DomainService.RemoveDomain": { ...write, request: own },
};
