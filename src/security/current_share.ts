import { AsyncLocalStorage } from "node:async_hooks";
import { noShare, type Share } from "./turns.ts";

/** Those whom work is for: one share, or several for a statement that calls share. */
export type Shares = readonly [Share, ...Share[]];

/** Whom the work is for, asked when it matters: a call may learn on its way in which organization it works. */
export type WorkedFor = { readonly shares: Shares };

const current = new AsyncLocalStorage<WorkedFor>();

const process: WorkedFor = { shares: [noShare] };

/** Runs work for a caller, whose share of places is then used by whatever it waits for. */
export const workFor = <T>(whom: WorkedFor, work: () => T): T => current.run(whom, work);

/** Runs work that is the process's own, though a caller set it off. */
export const workForAll = <T>(work: () => T): T => current.run(process, work);

/** Whom the current work is for. */
export const currentShares = (): Shares => (current.getStore() ?? process).shares;
