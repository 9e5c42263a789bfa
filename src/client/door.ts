/** The doors that a call can take; the first is the default. */
export const doors = ["connect", "grpc", "grpc-web", "rest"] as const;

/** One of the doors. */
export type Door = (typeof doors)[number];
