import { signal } from "@preact/signals";

/** Whether the server responds. */
export const connection = signal<"up" | "lost">("up");

/** Set once the server has another version than this page: some of its files may be gone. */
export const outdated = signal(false);
