const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Writes a text as HTML, within an element or an attribute in quotes. */
export const escaped = (text: string): string => text.replace(/[&<>"']/g, (one) => entities[one] ?? one);
