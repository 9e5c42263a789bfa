import { AccountService, ChangePasswordRequestSchema } from "../../../gen/postern/v1/account_pb.ts";
import { pageText } from "../../messages/page.ts";
import type { PolicyInForce } from "../../services/policies/policy.ts";
import { paths } from "../http/paths.ts";
import { passwordField } from "../pages/field.ts";
import { type Html, html } from "../pages/html.ts";
import { passwordRules, rulesId } from "../pages/password_rules.ts";
import { contextOfUser } from "../sign_in/user_call.ts";
import type { Failed } from "./account_attempt.ts";
import { type AccountSection, type AccountView, accountForm, accountPage, savedPage } from "./account_page.ts";
import type { AccountServices } from "./account_services.ts";

/** The page on which users change their password. */
export const accountPassword = ({ password, passwordOf, request }: AccountServices): AccountSection => ({
  path: paths.accountPassword,
  isSensitive: () => false,

  async show(view, failed) {
    const user = await passwordOf(view);
    const body = user.hash === null ? withoutPassword(view) : changeForm(view, user.policy, failed);
    return accountPage(view, body, failed);
  },

  async act(view, form) {
    const { http, session } = view;
    const [oldPassword, newPassword] = [form.get("old_password") ?? "", form.get("new_password") ?? ""];
    const change = request(ChangePasswordRequestSchema, { oldPassword, newPassword });
    await password.changePassword(change, contextOfUser(http, session, AccountService.method.changePassword));
    return savedPage(view);
  },
});

const withoutPassword = ({ language }: AccountView): Html => html`<p>${pageText("password_none", language)}</p>
<a class="button plain" href="${paths.accountFactors}">${pageText("account_factors", language)}</a>`;

function changeForm(view: AccountView, policy: PolicyInForce, failed: Failed | undefined): Html {
  const { language } = view;
  const isOld = failed !== undefined && !failed.fields.includes("newPassword");
  const old = {
    name: "old_password",
    label: pageText("old_password", language),
    isWrong: isOld,
    hasFocus: isOld,
    attributes: html`maxlength="1000" autocomplete="current-password"`,
  };
  const isNew = failed !== undefined && !isOld;
  const fresh = {
    name: "new_password",
    label: pageText("new_password", language),
    isWrong: isNew,
    hasFocus: isNew,
    attributes: html`maxlength="1000" autocomplete="new-password"`,
    describedBy: rulesId,
  };
  return html`<p>${pageText("password_text", language)}</p>
${accountForm(
  view,
  html`<input type="text" name="username" value="${view.session.username}" autocomplete="username" hidden readonly>
${passwordField(old, language)}
${passwordField(fresh, language)}
${passwordRules(language, policy)}
<button name="action" value="change">${pageText("change_password", language)}</button>`,
)}`;
}
