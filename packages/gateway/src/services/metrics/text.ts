/** A sample of a metric. */
export type Sample = {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
  /** The suffix of the metric's name, such as `_bucket`. */
  readonly suffix?: string;
};

/** How the numbers of several processes are combined: as their sum, maximum or minimum. */
export type Together = "sum" | "most" | "least";

/** A metric with all its samples. */
export type Family = {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  readonly samples: readonly Sample[];
  /** How samples of several processes are combined; by default, they are added up. */
  readonly together?: Together;
};

/** The content type of the text. */
export const contentType = "text/plain; version=0.0.4; charset=utf-8";

/** Formats metrics in the text format of Prometheus, 0.0.4. */
export function exposition(families: readonly Family[]): string {
  return families
    .map(({ name, help, type, samples }) => {
      const lines = samples.map(
        ({ labels = {}, value, suffix = "" }) => `${name}${suffix}${labelled(labels)} ${written(value)}\n`,
      );
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
    })
    .join("");
}

function labelled(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length > 0 ? `{${pairs.join(",")}}` : "";
}

const escaped = (text: string) => text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

const written = (value: number) => (value === Infinity ? "+Inf" : String(value));

/** A gauge with one sample. */
export const gauge = (name: string, help: string, value: number): Family => ({
  name,
  help,
  type: "gauge",
  samples: [{ value }],
});

/** The metric, with the way to combine the samples of several processes. */
export const together = (how: Together, family: Family): Family => ({ ...family, together: how });

/** A counter with one sample. */
export const counter = (name: string, help: string, value: number): Family => ({
  name,
  help,
  type: "counter",
  samples: [{ value }],
});
