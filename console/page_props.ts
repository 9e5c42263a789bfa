/** The parts of the address that the path of a page names. */
export type PageProps = Readonly<Partial<Record<"userId" | "projectId" | "appId" | "organizationId" | "part", string>>>;
