type Write = (fields: object, message: string) => void;

/** The part of the process log that the database folder writes to. */
export type ProcessLog = Readonly<{ debug: Write; info: Write; warn: Write; error: Write }>;
