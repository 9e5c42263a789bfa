/** The paths of the reference. */
export const pathsIn = {
  overview: "/docs",
  errors: "/docs/errors",
  types: "/docs/types",
  operation: (tag: string, { name }: { readonly name: string }) => `/docs/${tag}/${name}`,
  type: (name: string) => `/docs/types/${name}`,
} as const;

/** The paths of files of the reference that are not pages. */
export const filesIn = { script: "/docs/browser.js", search: "/docs/search.json" } as const;
