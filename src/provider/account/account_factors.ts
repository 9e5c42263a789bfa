import { create } from "@bufbuild/protobuf";
import {
  FactorKind,
  FactorService,
  GenerateRecoveryCodesRequestSchema,
  ListFactorsRequestSchema,
  RemoveFactorRequestSchema,
  RenameFactorRequestSchema,
} from "../../../gen/postern/v1/factor_pb.ts";
import { pageText } from "../../messages/page.ts";
import { bounded, type Parameters } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { type Html, html, nothing, pageResponse } from "../pages/html.ts";
import { contextOfUser } from "../sign_in/user_call.ts";
import {
  type AccountSection,
  type AccountView,
  accountForm,
  accountPage,
  dated,
  listOf,
  questionPage,
  sectionsOf,
} from "./account_page.ts";
import type { AccountServices } from "./account_services.ts";

const { method } = FactorService;
const longestName = 200;

export const accountFactors = ({ factors }: AccountServices): AccountSection => {
  const listOfUser = async ({ http, session }: AccountView): Promise<readonly Listed[]> => {
    const request = create(ListFactorsRequestSchema, { userId: session.userId });
    return (await factors.listFactors(request, contextOfUser(http, session, method.listFactors))).factors;
  };
  return section(factors, listOfUser);
};

type ListOfUser = (view: AccountView) => Promise<readonly Listed[]>;

const section = (factors: AccountServices["factors"], listOfUser: ListOfUser): AccountSection => ({
  path: paths.accountFactors,
  isSensitive: (form) => form.get("action") !== "rename",

  async show(view, failed) {
    const { language } = view;
    const list = await listOfUser(view);
    const canHaveCodes = list.some(({ kind }) => kind !== FactorKind.RECOVERY_CODES);
    const codes = html`<button name="action" value="codes" class="plain">${pageText("new_codes", language)}</button>`;
    const items = list.map((one) => item(view, one));
    return accountPage(
      view,
      html`${listOf(view, items)}
<a class="button" href="${paths.addFactor}">${pageText(list.length === 0 ? "enrol_title" : "enrol_another", language)}</a>
${canHaveCodes ? accountForm(view, codes) : nothing}`,
      failed,
    );
  },

  async act(view, form) {
    const { http, session } = view;
    const { userId } = session;
    const factorId = bounded(form, "factor", longestName) ?? "";
    switch (form.get("action")) {
      case "rename": {
        const name = nameIn(form);
        const request = create(RenameFactorRequestSchema, { userId, factorId, name });
        if (name !== "") await factors.renameFactor(request, contextOfUser(http, session, method.renameFactor));
        return undefined;
      }
      case "ask_remove":
        return askToRemove(view, await listOfUser(view), factorId);
      case "remove": {
        const request = create(RemoveFactorRequestSchema, { userId, factorId });
        await factors.removeFactor(request, contextOfUser(http, session, method.removeFactor));
        return undefined;
      }
      case "codes": {
        const request = create(GenerateRecoveryCodesRequestSchema);
        const context = contextOfUser(http, session, method.generateRecoveryCodes);
        return shownCodes(view, (await factors.generateRecoveryCodes(request, context)).codes);
      }
      default:
        return undefined;
    }
  },
});

const nameIn = (form: Parameters): string => (bounded(form, "name", longestName) ?? "").trim();

type Listed = Awaited<ReturnType<AccountServices["factors"]["listFactors"]>>["factors"][number];

function item(view: AccountView, factor: Listed): Html {
  const { language } = view;
  const { id, name, lastUsedDate } = factor;
  const used = lastUsedDate ? dated("last_used", view, lastUsedDate) : nothing;
  const rename = html`<label for="name-${id}">${pageText("name", language)}</label>
<input id="name-${id}" name="name" value="${name}" maxlength="${String(longestName)}">
<button name="action" value="rename" class="plain">${pageText("rename_factor", language)}</button>`;
  const fields = html`<input type="hidden" name="factor" value="${id}">
${factor.kind === FactorKind.RECOVERY_CODES ? nothing : rename}
<button name="action" value="ask_remove" class="plain danger">${pageText("remove_factor", language)}</button>`;
  return html`<h2>${kindOf(view, factor)}</h2>
${used}
${accountForm(view, fields)}`;
}

function kindOf({ language }: AccountView, { kind, codesLeft }: Listed): string {
  if (kind === FactorKind.TOTP) return pageText("factor_totp", language);
  if (kind === FactorKind.PASSKEY) return pageText("factor_passkey", language);
  return pageText("factor_recovery", language, { count: String(codesLeft) });
}

/** Asks for confirmation before removing a factor; undefined if it is already gone. */
function askToRemove(view: AccountView, list: readonly Listed[], factorId: string) {
  const { language } = view;
  const factor = list.find(({ id }) => id === factorId);
  if (!factor) return undefined;
  const isFull = ({ kind }: Listed) => kind !== FactorKind.RECOVERY_CODES;
  const isLast = isFull(factor) && list.filter(isFull).length === 1;
  return questionPage(view, {
    title: pageText("remove_title", language),
    text: pageText(isLast ? "remove_last" : "remove_text", language),
    about: html`<p><b>${kindOf(view, factor)}</b> ${factor.name}</p>`,
    fields: html`<input type="hidden" name="factor" value="${factorId}">
<button name="action" value="remove" class="danger">${pageText("remove_factor", language)}</button>`,
    keep: "keep_factor",
  });
}

/** Shows the codes, for the only time. */
const shownCodes = (view: AccountView, codes: readonly string[]) => {
  const { language, path } = view;
  return pageResponse(
    { ...view, here: undefined },
    {
      title: pageText("codes_title", language),
      beside: sectionsOf(view),
      body: html`<p>${pageText("new_codes_text", language)}</p>
<ul class="codes">
${codes.map((code) => html`<li><code>${code}</code></li>\n`)}</ul>
<a class="button" href="${path}">${pageText("back", language)}</a>`,
    },
  );
};
