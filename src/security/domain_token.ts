import { randomBytes } from "node:crypto";

/** Generates the part of a TXT record's value that nobody can know in advance. */
export const newDomainToken = (): string => randomBytes(16).toString("hex");
