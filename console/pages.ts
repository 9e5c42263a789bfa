import type { ComponentType } from "preact";
import type { Method } from "./calls/client.ts";
import { lazy } from "./calls/lazy.ts";
import type { PageProps } from "./page_props.ts";
import type { IconName } from "./parts/icons.tsx";
import { allApplicationTexts, deliveryTexts } from "./texts/deliveries.ts";
import { shellTexts } from "./texts/shell.ts";
import type { Text } from "./texts/text.ts";

/** A page: its address, its file, and its place in the navigation, if any. */
export type Page = {
  /** Below `/console`; `:name` is a part that the page receives. */
  readonly path: string;
  readonly page: ComponentType<PageProps>;
  readonly entry?: {
    readonly text: Text;
    readonly icon: IconName;
    /** The call that the page is about: users who may not make it are not offered the page. */
    readonly needs?: Method;
    /** Whether the page is about the whole instance. */
    readonly isOfInstance?: boolean;
  };
};

// Pages on one subject are loaded together.
const overview = () => import("./home/pages.ts");
const user = () => import("./user/pages.ts");
const project = () => import("./project/pages.ts");
const application = () => import("./application/pages.ts");
const organization = () => import("./organization/pages.ts");

/** All pages, in the order of the navigation. */
export const pages: readonly Page[] = [
  { path: "/", page: lazy(async () => (await overview()).HomePage), entry: { text: shellTexts.home, icon: "home" } },
  {
    path: "/users",
    page: lazy(async () => (await user()).UsersPage),
    entry: { text: shellTexts.users, icon: "users", needs: "UserService/ListUsers" },
  },
  { path: "/users/:userId/:part?", page: lazy(async () => (await user()).UserPage) },
  {
    path: "/projects",
    page: lazy(async () => (await project()).ProjectsPage),
    entry: { text: shellTexts.projects, icon: "projects", needs: "ProjectService/ListProjects" },
  },
  { path: "/projects/:projectId/applications/new", page: lazy(async () => (await application()).NewApplicationPage) },
  {
    path: "/projects/:projectId/applications/:appId/:part?",
    page: lazy(async () => (await application()).ApplicationPage),
  },
  { path: "/projects/:projectId/:part?", page: lazy(async () => (await project()).ProjectPage) },
  {
    path: "/applications",
    page: lazy(() => import("./applications/page.tsx")),
    entry: { text: allApplicationTexts.title, icon: "application", needs: "ApplicationService/ListApplications" },
  },
  {
    path: "/organizations",
    page: lazy(async () => (await organization()).OrganizationsPage),
    entry: {
      text: shellTexts.organizations,
      icon: "organizations",
      needs: "OrganizationService/ListOrganizations",
    },
  },
  { path: "/organizations/:organizationId/:part?", page: lazy(async () => (await organization()).OrganizationPage) },
  {
    path: "/instance/:part?",
    page: lazy(async () => (await organization()).InstancePage),
    entry: {
      text: shellTexts.instance,
      icon: "instance",
      needs: "PolicyService/GetPrivacyPolicy",
      isOfInstance: true,
    },
  },
  {
    path: "/events",
    page: lazy(async () => (await overview()).EventsPage),
    entry: { text: shellTexts.events, icon: "events", needs: "EventService/ListEvents" },
  },
  {
    path: "/deliveries",
    page: lazy(() => import("./deliveries/page.tsx")),
    entry: { text: deliveryTexts.title, icon: "mail", needs: "DeliveryService/ListDeliveries" },
  },
  {
    path: "/why",
    page: lazy(() => import("./why/page.tsx")),
    entry: { text: shellTexts.why, icon: "why", needs: "ExplanationService/ExplainSignIn" },
  },
  {
    path: "/roles",
    page: lazy(async () => (await overview()).RolesPage),
    entry: { text: shellTexts.roles, icon: "roles", needs: "MemberService/ListMembers" },
  },
];
