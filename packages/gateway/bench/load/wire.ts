/** Sends the call with this number; answers whether it was granted. */
export type Send = (n: number) => Promise<boolean>;

/** A connection that several callers can share. */
export type Wire = Disposable & { readonly send: Send };
