/** The protocols that a call can use; the first is the default. */
export const doors = ["connect", "grpc", "grpc-web", "rest"] as const;

export type Door = (typeof doors)[number];
