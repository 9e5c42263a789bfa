import { type ChildProcess, fork } from "node:child_process";
import type { Socket } from "node:net";
import type { Assignment, ToParent, ToWorker } from "./message.ts";

/** A worker as its parent sees it. */
export type WorkerProcess = {
  readonly number: number;
  readonly pid: number | undefined;
  /** The number of its open connections. */
  connections: number;
  readonly send: (message: ToWorker, socket?: Socket) => void;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** How it exited: an exit code or a signal. */
  readonly ended: Promise<WorkerEnd>;
};

/** The exit of a worker; the code is null if a signal ended it. */
export type WorkerEnd = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

/** Called with each message of a worker. */
export type OnMessage = (worker: WorkerProcess, message: ToParent) => void;

/** Starts this program again as a worker. */
export function startWorker(assignment: Assignment, onMessage: OnMessage): WorkerProcess {
  const [, program = ""] = process.argv;
  const child = fork(program, ["worker", String(assignment.number)]);
  const worker = workerOf(child, assignment.number);
  child.on("message", (message) => onMessage(worker, message as ToParent));
  worker.send({ kind: "assignment", assignment });
  return worker;
}

function workerOf(child: ChildProcess, number: number): WorkerProcess {
  return {
    number,
    pid: child.pid,
    connections: 0,
    send(message, socket) {
      if (child.connected) child.send(message, socket, { keepOpen: true }, () => {});
    },
    signal: (signal) => void child.kill(signal),
    ended: endOf(child),
  };
}

function endOf(child: ChildProcess): Promise<WorkerEnd> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    // A process that could not be created has no exit.
    child.on("error", () => {
      if (child.pid === undefined) resolve({ code: null, signal: null });
    });
  });
}
