import type { Row } from "./report.ts";

const width = 860;
const left = 330;
const bar = 16;
const step = 22;

/** The ratios of all lines that have one, as bars beside the line of 1. */
export function chartOf(rows: readonly Row[]): string {
  const bars = rows.flatMap(barOf);
  const most = Math.max(1, ...bars.map(({ ratio }) => ratio));
  const scale = (width - left - 60) / most;
  const height = bars.length * step + 50;
  const lines = bars.map(({ label, ratio }, at) => {
    const y = 30 + at * step;
    return [
      `<text x="${left - 8}" y="${y + 12}" text-anchor="end">${label}</text>`,
      `<rect x="${left}" y="${y}" width="${(ratio * scale).toFixed(1)}" height="${bar}" fill="${ratio >= 1 ? "#2f7d5b" : "#b4572f"}"/>`,
      `<text x="${(left + ratio * scale + 5).toFixed(1)}" y="${y + 12}">${ratio}</text>`,
    ].join("\n");
  });
  const one = (left + scale).toFixed(1);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">
<title>Postern beside its peers</title>
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="${left}" y="18">times the peer; the line is level with it</text>
${lines.join("\n")}
<line x1="${one}" y1="26" x2="${one}" y2="${height - 14}" stroke="#333" stroke-dasharray="3 3"/>
</svg>
`;
}

function barOf({ subject, who, figures }: Row) {
  const [, ratio] = Object.entries(figures).find(([name]) => name.startsWith("x ")) ?? [];
  const peers = ["pgbench", "grpc-js", "fastify", "connectNodeAdapter", "small"];
  return ratio === undefined || peers.includes(who) ? [] : [{ label: escaped(`${subject}, ${who}`), ratio }];
}

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
