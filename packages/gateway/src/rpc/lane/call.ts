import type { ContextValues } from "@connectrpc/connect";
import type { Call } from "../operations.ts";
import { type Fields, HeaderFields } from "../protocols/protocol.ts";

/** A call without Headers or URL, whose signal is made when somebody asks for it; a class, for its getter costs nothing. */
export class LaneCall implements Call {
  readonly values: ContextValues;
  readonly requestHeader: Call["requestHeader"];
  #ended: Error | undefined;
  #controller: AbortController | undefined;

  constructor(values: ContextValues, headers: Fields) {
    this.values = values;
    this.requestHeader = new HeaderFields(headers);
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#ended) this.#controller.abort(this.#ended);
    return this.#controller.signal;
  }

  /** Aborts the signal, also one that is asked for later. */
  end(reason: Error): void {
    this.#ended ??= reason;
    this.#controller?.abort(this.#ended);
  }
}
