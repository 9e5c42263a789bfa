/** The name in logs and metrics of an rpc or a method that a client made up. */
export const unknownName = "unknown";

/** The name of an HTTP method in logs: those of HTTP by their own. */
export const methodName = (method: string): string => (/^[A-Z]{3,7}$/.test(method) ? method : unknownName);
