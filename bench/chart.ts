import type { Row } from "../packages/gateway/bench/report.ts";

/** The result of a part of the benchmark. */
export type Part = { readonly part: string; readonly rows: readonly Row[] };

type Bar = { readonly label: string; readonly ratio: number };

const width = 860;
const left = 310;
const right = 50;
const bar = 14;
const step = 20;
const titles = [
  ["doors", "Doors: calls, times the peer's"],
  ["operations", "Operations by 1, 32 and 128 callers: calls, times pgbench's"],
  ["peers", "Peers by callers: calls, times OpenFGA's; who am I, users and applications: times Keycloak's"],
  ["signin", "Whole sign-ons by 1, 32 and 128 browsers: times oidc-provider's"],
  ["hashing", "Hashing: changes of passwords, of what the cores can hash"],
  ["lists", "Lists by each filter: calls in a second of CPU on much data, of those on little"],
  ["scale", "Scale: calls on much data, of the rate on little; and two nodes, of the rate of one"],
] as const;
// The peers that the others are compared with.
const peers = ["pgbench", "grpc-js", "fastify", "connectNodeAdapter", "small", "one node"];

/** Draws the ratios as bars from the line of 1: to the right those that are faster than their peer. */
export function chartOf(found: readonly Part[]): string {
  const groups = titles.flatMap(([name, title]) => {
    const bars = (found.find(({ part }) => part === name)?.rows ?? []).flatMap(barOf);
    return bars.length > 0 ? [{ title, bars }] : [];
  });
  const x = scaleOf(groups.flatMap(({ bars }) => bars.map(({ ratio }) => ratio)));
  const lines: string[] = [];
  let y = 34;
  for (const { title, bars } of groups) {
    lines.push(`<text x="8" y="${y + 12}" font-weight="bold">${title}</text>`);
    y += step;
    for (const one of bars) {
      lines.push(drawn(one, y, x));
      y += step;
    }
    y += step / 2;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" font-family="sans-serif" font-size="12">
<title>Postern beside its peers</title>
<rect width="${width}" height="${y}" fill="#fff"/>
${grid(x, y)}
${lines.join("\n")}
</svg>
`;
}

type Scale = { readonly at: (ratio: number) => number; readonly ticks: readonly number[] };

/** Makes a logarithmic scale, so that twice as fast is as far from the line as half as fast. */
function scaleOf(ratios: readonly number[]): Scale {
  const first = Math.floor(Math.log2(Math.min(0.5, ...ratios)));
  const last = Math.ceil(Math.log2(Math.max(2, ...ratios)));
  const unit = (width - left - right) / (last - first);
  const ticks = Array.from({ length: last - first + 1 }, (_, n) => 2 ** (first + n));
  return { at: (ratio) => left + (Math.log2(ratio) - first) * unit, ticks };
}

function grid({ at, ticks }: Scale, height: number): string {
  const lineOf = (tick: number) => {
    const x = at(tick).toFixed(1);
    const look = tick === 1 ? 'stroke="#333"' : 'stroke="#ddd"';
    return `<line x1="${x}" y1="24" x2="${x}" y2="${height - 6}" ${look}/>
<text x="${x}" y="18" text-anchor="middle" fill="#666">${tick < 1 ? `1/${1 / tick}` : tick}</text>`;
  };
  return ticks.map(lineOf).join("\n");
}

function drawn({ label, ratio }: Bar, y: number, { at }: Scale): string {
  const [one, end] = [at(1), at(ratio)];
  const place = `x="${Math.min(one, end).toFixed(1)}" y="${y}" width="${Math.abs(end - one).toFixed(1)}" height="${bar}"`;
  return `<text x="${left - 8}" y="${y + 11}" text-anchor="end">${label}</text>
<rect ${place} fill="${ratio >= 1 ? "#2f7d5b" : "#b4572f"}"/>
<text x="${(Math.max(one, end) + 5).toFixed(1)}" y="${y + 11}">${ratio}</text>`;
}

function barOf({ subject, who, figures }: Row): Bar[] {
  const [, ratio] = Object.entries(figures).find(([name]) => name.startsWith("x ")) ?? [];
  return ratio === undefined || peers.includes(who) ? [] : [{ label: escaped(labelOf(subject, who)), ratio }];
}

/** Labels a bar; the name of the server is left out where only ours is drawn. */
const labelOf = (subject: string, who: string) =>
  ["postern", "large", "saturated"].includes(who) ? subject : `${subject}, ${who.replace(/^Postern /, "")}`;

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
