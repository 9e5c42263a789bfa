/** The duration of a first lock. */
export const firstLockSeconds = 15 * 60;

/** Each further lock lasts twice as long, up to this maximum. */
export const longestLockSeconds = 60 * 60;
