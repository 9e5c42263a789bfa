/** How long a first lock lasts. */
export const firstLockSeconds = 15 * 60;

/** Each further lock lasts twice as long, up to this. */
export const longestLockSeconds = 60 * 60;
