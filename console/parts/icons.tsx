/** The outlines of the icons, on a square of 24. */
const outlines = {
  home: "M4 11 12 4l8 7v8a1 1 0 0 1-1 1h-5v-6h-4v6H5a1 1 0 0 1-1-1z",
  users:
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M2.5 20a6.5 6.5 0 0 1 13 0M16 4.3a3.5 3.5 0 0 1 0 6.4M18 14a6.5 6.5 0 0 1 3.5 6",
  user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4.5 20.5a7.5 7.5 0 0 1 15 0",
  robot: "M6 9h12v10H6zM12 9V5M9.5 13.5v1M14.5 13.5v1M3.5 12v4M20.5 12v4",
  projects: "m12 3 8.5 4.5L12 12 3.5 7.5zM3.5 12 12 16.5l8.5-4.5M3.5 16.5 12 21l8.5-4.5",
  application: "M4 5h16v14H4zM4 9h16M7 7h.01M10 7h.01",
  organizations: "M5 21V4h9v17M14 9h5v12M3 21h18M8 8h3M8 12h3M8 16h3",
  instance: "M4 4h16v6.5H4zM4 13.5h16V20H4zM7.5 7.25h.01M7.5 16.75h.01",
  events: "M3 12h4l3-8 4 16 3-8h4",
  why: "M9.2 9a3 3 0 1 1 4.3 2.9c-1 .5-1.5 1.2-1.5 2.1M12 17.5h.01M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18",
  roles: "M12 3 5 6v5c0 4.5 3 8 7 10 4-2 7-5.5 7-10V6z",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14M20 20l-4-4",
  code: "m8 7-5 5 5 5M16 7l5 5-5 5",
  dots: "M5 12h.01M12 12h.01M19 12h.01",
  menu: "M4 6h16M4 12h16M4 18h16",
  close: "m6 6 12 12M18 6 6 18",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "m5 12.5 4.5 4.5L19 7.5",
  warn: "M12 4 2.5 20h19zM12 10v4.5M12 17.5h.01",
  chevron: "m9 6 6 6-6 6",
  down: "m6 9 6 6 6-6",
  plus: "M12 5v14M5 12h14",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M12 7v5l3 2",
  key: "M14.5 13a4.5 4.5 0 1 0-4.2-3L3 17.3V21h4v-2.5h2.5V16H12l1-3.3",
  lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
  mail: "M3.5 6h17v12h-17zM4 7l8 6 8-6",
  phone: "M7 3h10v18H7zM11 18h2",
  screen: "M3 5h18v11H3zM9 20h6",
  out: "M14 4h5v16h-5M10 8l-4 4 4 4M6 12h9",
  live: "M12 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3M7.8 16.2a6 6 0 0 1 0-8.4M16.2 7.8a6 6 0 0 1 0 8.4M5 19A10 10 0 0 1 5 5M19 5a10 10 0 0 1 0 14",
} as const;

export type IconName = keyof typeof outlines;

/** A picture beside a text that says the same, so it is hidden from screen readers. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" data-name={name} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={outlines[name]} />
    </svg>
  );
}
