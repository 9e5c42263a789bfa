import { create } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { UpdateHumanUserRequestSchema, UserService } from "../../../gen/postern/v1/user_pb.ts";
import { type Language, languageNames, languages } from "../../messages/language.ts";
import { type PageText, pageText } from "../../messages/page.ts";
import type { UserRow } from "../../services/users/user_row.ts";
import type { Parameters } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { field } from "../pages/field.ts";
import { type Html, html, nothing } from "../pages/html.ts";
import { contextOfUser } from "../sign_in/user_call.ts";
import type { Failed } from "./account_attempt.ts";
import { type AccountSection, type AccountView, accountForm, accountPage, savedPage } from "./account_page.ts";
import type { AccountServices } from "./account_services.ts";

/** The values in the form, as stored or as typed. */
type Values = Readonly<Record<FieldName, string>>;
type FieldName = (typeof names)[number] | (typeof addressNames)[number] | "language";

const names = ["given_name", "family_name"] as const;
const addressNames = ["street_address", "postal_code", "locality", "region", "country"] as const;
const fieldNames = [...names, "language", ...addressNames] as const;

const mask = create(FieldMaskSchema, { paths: ["given_name", "family_name", "address", "language"] });

/** The page on which users change their names, language and postal address. */
export const accountProfile = ({ users, userOf, request, languageCookie }: AccountServices): AccountSection => ({
  path: paths.accountProfile,
  isSensitive: () => false,

  async show(view, failed) {
    const values = failed ? typed(failed.form) : valuesOf(await userOf(view));
    return accountPage(view, accountForm(view, fieldsOf(view, values, failed)), failed && named(view, failed));
  },

  async act(view, form) {
    const { http, session } = view;
    const { given_name: givenName, family_name: familyName, language, ...rest } = typed(form);
    const { street_address: streetAddress, postal_code: postalCode, ...place } = rest;
    // Browsers end lines with both characters.
    const address = { streetAddress: streetAddress.replaceAll("\r\n", "\n"), postalCode, ...place };
    const human = { givenName, familyName, address, language };
    const update = request(UpdateHumanUserRequestSchema, { userId: session.userId, human, updateMask: mask });
    await users.updateHumanUser(update, contextOfUser(http, session, UserService.method.updateHumanUser));
    const shown = languages.find((one) => one === language.split("-", 1)[0]);
    return savedPage(view, shown ? [languageCookie(shown)] : []);
  },
});

/** The name of a field in the contract. */
const inContract = (name: FieldName): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

function valuesOf({ givenName, familyName, language, address }: UserRow): Values {
  const kept: Readonly<Record<string, unknown>> = { ...address, givenName, familyName, language };
  return eachField((name) => String(kept[inContract(name)] ?? ""));
}

const typed = (form: Parameters): Values => eachField((name) => form.get(name) ?? "");

const eachField = (found: (name: FieldName) => string): Values =>
  Object.fromEntries(fieldNames.map((name) => [name, found(name)])) as Values;

/** How browsers fill the fields in, and how long their values may be. */
const attributes: Readonly<Record<(typeof names)[number] | (typeof addressNames)[number], Html>> = {
  given_name: html`maxlength="200" autocomplete="given-name"`,
  family_name: html`maxlength="200" autocomplete="family-name"`,
  street_address: html`maxlength="500" rows="2" autocomplete="street-address"`,
  postal_code: html`maxlength="50" autocomplete="postal-code"`,
  locality: html`maxlength="200" autocomplete="address-level2"`,
  region: html`maxlength="200" autocomplete="address-level1"`,
  country: html`maxlength="200" autocomplete="country-name"`,
};

function fieldsOf({ language }: AccountView, values: Values, failed: Failed | undefined): Html {
  const wrong = (name: FieldName) => isWrong(name, failed?.fields ?? []);
  const first = fieldNames.find(wrong);
  const one = (name: keyof typeof attributes, more: { isOptional: boolean; isLong?: boolean }) =>
    field({
      name,
      label: pageText(name satisfies PageText, language),
      attributes: attributes[name],
      value: values[name],
      isWrong: wrong(name),
      hasFocus: name === first,
      ...more,
    });
  const optional = (name: keyof typeof attributes) => one(name, { isOptional: true });
  return html`<div class="pair">
<div>${one("given_name", { isOptional: false })}</div>
<div>${one("family_name", { isOptional: false })}</div>
</div>
<label for="language">${pageText("language", language)}</label>
<select id="language" name="language" aria-describedby="language-help">
${languageOptions(language, wrong("language") ? "" : values.language)}</select>
<p class="help" id="language-help">${pageText("language_help", language)}</p>
<fieldset>
<legend>${pageText("postal_address", language)}</legend>
<p class="help">${pageText("postal_help", language)}</p>
${one("street_address", { isOptional: true, isLong: true })}
<div class="pair">
<div>${optional("postal_code")}</div>
<div>${optional("locality")}</div>
</div>
<div class="pair">
<div>${optional("region")}</div>
<div>${optional("country")}</div>
</div>
</fieldset>
<button name="action" value="save">${pageText("save_changes", language)}</button>`;
}

/** The problems with the labels of their fields: on a long form, the sentence alone does not say which it is about. */
function named({ language }: AccountView, failed: Failed): Failed {
  const { fields, problems } = failed;
  if (fields.length !== problems.length) return failed;
  const labelled = problems.map((problem, at) => {
    const name = fieldNames.find((one) => isWrong(one, fields.slice(at, at + 1)));
    return name ? `${pageText(name, language)} – ${problem}` : problem;
  });
  return { ...failed, problems: labelled };
}

/** Whether a violation is about a field: `human.givenName`, or `human.address.postalCode`. */
const isWrong = (name: FieldName, fields: readonly string[]): boolean =>
  fields.some((path) => path.endsWith(`.${inContract(name)}`));

/** The languages that we have texts in, and the user's own if it is another. */
function languageOptions(shown: Language, current: string): Html {
  const known: readonly string[] = languages;
  const own = current === "" || known.includes(current) ? [] : [current];
  const option = (value: string, label: string) =>
    html`<option value="${value}"${value === current ? html` selected` : nothing}>${label}</option>
`;
  return html`${option("", pageText("no_language", shown))}${languages.map((one) => option(one, languageNames[one]))}${own.map((one) => option(one, nameOf(one)))}`;
}

const nameOf = (tag: string): string => new Intl.DisplayNames([tag], { type: "language" }).of(tag) ?? tag;
