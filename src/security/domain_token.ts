import { randomBytes } from "node:crypto";

/** Generates the part of a TXT record's value that nobody can know before it is told. */
export const newDomainToken = (): string => randomBytes(16).toString("hex");
