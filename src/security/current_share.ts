import { AsyncLocalStorage } from "node:async_hooks";
import { noShare, type Share } from "./turns.ts";

/** The shares that work is for: one, or several for a statement that calls share. */
export type Shares = readonly [Share, ...Share[]];

/** The shares that the work is for, read when they matter: a call may learn on its way which organization it works in. */
export type WorkedFor = {
  readonly shares: Shares;
  /** Whether others call as well, so that heavy work takes its time; never for the process's own work. */
  readonly isShared?: boolean;
};

const current = new AsyncLocalStorage<WorkedFor>();

const process: WorkedFor = { shares: [noShare] };

/** Runs work for a caller, whose share of places is then used by everything that it waits for. */
export const workFor = <T>(whom: WorkedFor, work: () => T): T => current.run(whom, work);

/** Runs the process's own work, even if a caller triggered it. */
export const workForAll = <T>(work: () => T): T => current.run(process, work);

/** For whom the current work is done. */
export const currentWork = (): WorkedFor => current.getStore() ?? process;

/** The shares that the current work is for. */
export const currentShares = (): Shares => currentWork().shares;
