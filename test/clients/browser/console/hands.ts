import { vi } from "vitest";
import type { Page } from "../chromium.ts";

/** How somebody uses a page; everything is found by its role and name, as a person knows it. */
export type Hands = {
  readonly press: (role: string, name: string) => Promise<void>;
  /** Writes into a field. */
  readonly fill: (name: string, text: string) => Promise<void>;
};

type Node = {
  readonly backendDOMNodeId?: number;
  readonly ignored?: boolean;
  readonly name?: { readonly value: string };
};

/**
 * The element with a role, whose name begins so, in the tree that a screen reader has; the last one, because dialogs come after the page.
 */
async function find(page: Page, role: string, name: string): Promise<number> {
  const { root } = (await page.raw("DOM.getDocument", { depth: 0 })) as { root: { backendNodeId: number } };
  const { nodes } = (await page.raw("Accessibility.queryAXTree", { backendNodeId: root.backendNodeId, role })) as {
    nodes: Node[];
  };
  const found = nodes.filter((one) => !one.ignored && one.name?.value.startsWith(name)).at(-1)?.backendDOMNodeId;
  if (found === undefined) throw new Error(`there is no ${role} "${name}"`);
  return found;
}

async function objectOf(page: Page, role: string, name: string): Promise<string> {
  const backendNodeId = await find(page, role, name);
  const { object } = (await page.raw("DOM.resolveNode", { backendNodeId })) as { object: { objectId: string } };
  return object.objectId;
}

const waited = (page: Page, role: string, name: string) => vi.waitFor(() => objectOf(page, role, name), 60_000);

async function on<T>(page: Page, objectId: string, declaration: string): Promise<T> {
  const wanted = {
    objectId,
    functionDeclaration: declaration,
    returnByValue: true,
    awaitPromise: true,
    userGesture: true,
  };
  const { result } = (await page.raw("Runtime.callFunctionOn", wanted)) as { result: { value: T } };
  return result.value;
}

const textRoles = ["textbox", "combobox", "searchbox"] as const;

/** The field with this name, whatever kind of text it takes. */
async function fieldOf(page: Page, name: string): Promise<string> {
  return vi.waitFor(async () => {
    for (const role of textRoles) {
      const found = await objectOf(page, role, name).catch(() => undefined);
      if (found) return found;
    }
    throw new Error(`there is no field "${name}"`);
  }, 60_000);
}

/** With a mouse: to where the element is, and what is written goes to what was clicked. */
export function mouse(page: Page): Hands {
  const click = async (objectId: string) => {
    const [x, y] = await on<[number, number]>(
      page,
      objectId,
      `function () {
        this.scrollIntoView({ block: "center" });
        const box = this.getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2];
      }`,
    );
    const at = { x, y, button: "left", clickCount: 1 };
    for (const type of ["mousePressed", "mouseReleased"]) await page.raw("Input.dispatchMouseEvent", { type, ...at });
  };
  return {
    press: async (role, name) => click(await waited(page, role, name)),
    async fill(name, text) {
      await click(await fieldOf(page, name));
      await page.raw("Input.insertText", { text });
    },
  };
}

const keys = { Tab: 9, Enter: 13, " ": 32, ArrowDown: 40 } as const;

export async function key(page: Page, name: keyof typeof keys): Promise<void> {
  const about = { key: name, code: name === " " ? "Space" : name, windowsVirtualKeyCode: keys[name] };
  const text = name === "Enter" ? { text: "\r" } : name === " " ? { text: " " } : {};
  await page.raw("Input.dispatchKeyEvent", { type: "keyDown", ...about, ...text });
  await page.raw("Input.dispatchKeyEvent", { type: "keyUp", ...about });
}

/** With the keyboard alone: from one element to the next, until the one that is wanted has the focus. */
export function keyboard(page: Page): Hands {
  const goTo = async (objectId: string, name: string) => {
    for (let steps = 0; steps < 150; steps++) {
      if (await on(page, objectId, "function () { return document.activeElement === this; }")) return;
      await key(page, "Tab");
    }
    throw new Error(`the keyboard does not reach "${name}"`);
  };
  /** A group of choices is one stop, within which the arrows go. */
  const choose = async (objectId: string) => {
    const isIn = "function () { return document.activeElement.name === this.name; }";
    for (let steps = 0; steps < 150 && !(await on(page, objectId, isIn)); steps++) await key(page, "Tab");
    for (let steps = 0; steps < 20; steps++) {
      if (await on(page, objectId, "function () { return this.checked; }")) return;
      await key(page, "ArrowDown");
    }
    throw new Error("the keyboard chooses nothing");
  };
  return {
    async press(role, name) {
      const objectId = await waited(page, role, name);
      if (role === "radio") return choose(objectId);
      await goTo(objectId, name);
      await key(page, role === "checkbox" ? " " : "Enter");
    },
    async fill(name, text) {
      await goTo(await fieldOf(page, name), name);
      await page.raw("Input.insertText", { text });
    },
  };
}

/** As a screen reader does: by role and name, with the act that the tree offers. */
export function tree(page: Page): Hands {
  return {
    async press(role, name) {
      await on(page, await waited(page, role, name), "function () { this.click(); }");
    },
    async fill(name, text) {
      await on(page, await fieldOf(page, name), "function () { this.focus(); }");
      await page.raw("Input.insertText", { text });
    },
  };
}
