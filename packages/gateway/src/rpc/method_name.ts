/** The name in logs and metrics for an rpc or method that a client made up. */
export const unknownName = "unknown";

/** The name of an HTTP method in logs; made-up ones are not shown. */
export const methodName = (method: string): string => (/^[A-Z]{3,7}$/.test(method) ? method : unknownName);
