import { signal } from "@preact/signals";

/** The organization that the page works in. */
export const organizationId = signal<string | undefined>(undefined);
