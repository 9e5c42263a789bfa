import { useSignal } from "@preact/signals";
import { useLocation } from "preact-iso";
import { useList } from "../calls/use_list.ts";
import { linkTo } from "../links.ts";
import { findProjects, findUsers } from "../objects/pickers.tsx";
import { useName } from "../parts/names.tsx";
import { Card, PageHeader } from "../parts/page.tsx";
import { Picker } from "../parts/picker.tsx";
import { objectTexts } from "../texts/objects.ts";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";
import { whyTexts } from "../texts/why.ts";
import { DecisionAnswer } from "./decision.tsx";
import type { Question } from "./question.ts";
import { SignInAnswer } from "./sign_in.tsx";

const usual = "openid profile email roles";

/** Explains why a user may or may not sign in, or act in a role. */
export default function WhyPage() {
  const { query, route } = useLocation();
  const { kind = "", user = "", project = "", app = "", role = "", scopes = usual } = query;
  const question: Question = { kind, user, project, app, role, scopes };
  const ask = (change: Partial<Question>) => {
    const next = { ...question, ...change };
    route(linkTo(["why"], { ...next, scopes: next.scopes === usual ? undefined : next.scopes }), true);
  };
  const isRole = kind === "role";
  return (
    <>
      <PageHeader title={t(shellTexts.why)} below={t(whyTexts.about)} />
      <Card>
        <fieldset class="segments" aria-label={t(whyTexts.question)}>
          <button type="button" aria-pressed={!isRole} onClick={() => ask({ kind: "" })}>
            {t(whyTexts.signIn)}
          </button>
          <button type="button" aria-pressed={isRole} onClick={() => ask({ kind: "role" })}>
            {t(whyTexts.decision)}
          </button>
        </fieldset>
        <Fields question={question} onChange={ask} />
      </Card>
      {isRole ? <DecisionAnswer question={question} /> : <SignInAnswer question={question} />}
    </>
  );
}

type FieldsProps = { readonly question: Question; readonly onChange: (change: Partial<Question>) => void };

function Fields({ question, onChange }: FieldsProps) {
  const user = useName(question.user || undefined);
  const project = useName(question.project || undefined);
  const isRole = question.kind === "role";
  return (
    <div class="question">
      <div class="field">
        <label for="why-user">{t(whyTexts.user)}</label>
        <Picker
          key={`${question.user} ${user?.name}`}
          id="why-user"
          placeholder={t(objectTexts.findUser)}
          find={findUsers}
          picked={question.user ? { id: question.user, text: user?.name ?? question.user } : undefined}
          onPick={({ id }) => onChange({ user: id })}
        />
      </div>
      <div class="field">
        <label for="why-project">{t(objectTexts.project)}</label>
        <Picker
          key={`${question.project} ${project?.name}`}
          id="why-project"
          placeholder={t(objectTexts.findProject)}
          find={findProjects}
          picked={question.project ? { id: question.project, text: project?.name ?? question.project } : undefined}
          onPick={({ id }) => onChange({ project: id, app: "", role: "" })}
        />
      </div>
      {question.project && !isRole && <ApplicationField question={question} onChange={onChange} />}
      {question.project && isRole && <RoleField question={question} onChange={onChange} />}
      {!isRole && <ScopesField question={question} onChange={onChange} />}
    </div>
  );
}

function ApplicationField({ question: { project, app }, onChange }: FieldsProps) {
  const list = useList(
    "ApplicationService/ListApplications",
    { projectId: project },
    { rowsOf: ({ applications }) => applications, size: 200 },
  );
  return (
    <Select
      id="why-app"
      label={t(whyTexts.application)}
      value={app}
      options={list.rows.map(({ id = "", name = "" }) => [id, name])}
      onChange={(chosen) => onChange({ app: chosen })}
    />
  );
}

function RoleField({ question: { project, role }, onChange }: FieldsProps) {
  const list = useList(
    "ProjectService/ListProjectRoles",
    { projectId: project },
    { rowsOf: ({ roles }) => roles, size: 1000 },
  );
  return (
    <Select
      id="why-role"
      label={t(whyTexts.decision)}
      value={role}
      options={list.rows.map(({ key = "", displayName }) => [key, displayName || key])}
      onChange={(chosen) => onChange({ role: chosen })}
    />
  );
}

type SelectProps = {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChange: (value: string) => void;
};

function Select({ id, label, value, options, onChange }: SelectProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">{t(whyTexts.choose)}</option>
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

function ScopesField({ question: { scopes }, onChange }: FieldsProps) {
  const written = useSignal(scopes);
  return (
    <div class="field">
      <label for="why-scopes">{t(whyTexts.scopes)}</label>
      <input
        id="why-scopes"
        type="text"
        spellcheck={false}
        value={written.value}
        onChange={(event) => {
          written.value = event.currentTarget.value;
          onChange({ scopes: written.value.trim() });
        }}
      />
    </div>
  );
}
