import type { Texts } from "./text.ts";

/** The checks of a sign-in, by the contract’s names. */
export const checkTexts = {
  APPLICATION: [
    "The application signs users in",
    "Die Anwendung meldet Benutzer an",
    "L’application connecte des utilisateurs",
    "La aplicación inicia sesiones",
  ],
  REQUEST: [
    "Its configuration allows the request",
    "Ihre Konfiguration erlaubt die Anfrage",
    "Sa configuration permet la demande",
    "Su configuración permite la solicitud",
  ],
  USER: ["The user is active", "Der Benutzer ist aktiv", "L’utilisateur est actif", "El usuario está activo"],
  FIRST_STEP: ["The first step", "Der erste Schritt", "La première étape", "El primer paso"],
  PASSWORD_CHANGE: [
    "Change of the password",
    "Änderung des Passworts",
    "Changement du mot de passe",
    "Cambio de contraseña",
  ],
  SECOND_FACTOR: ["Second factor", "Zweiter Faktor", "Second facteur", "Segundo factor"],
  ACCESS: ["Access to the application", "Zugang zur Anwendung", "Accès à l’application", "Acceso a la aplicación"],
  ORGANIZATION: [
    "The organization signed in for",
    "Die Organisation der Anmeldung",
    "L’organisation de la connexion",
    "La organización del inicio de sesión",
  ],
  CONSENT: ["Consent", "Zustimmung", "Consentement", "Consentimiento"],
} satisfies Texts;

export const outcomeTexts = {
  PASSED: ["Passed", "Bestanden", "Validé", "Superado"],
  ASKED: ["The user has to act", "Der Benutzer muss etwas tun", "L’utilisateur doit agir", "El usuario debe actuar"],
  REFUSED: ["Refused", "Abgelehnt", "Refusé", "Rechazado"],
  UNKNOWN: ["You may not know", "Nicht für Sie sichtbar", "Non visible pour vous", "No visible para usted"],
} satisfies Texts;

/** The reasons for the results of checks. */
export const reasonTexts = {
  APPLICATION_INACTIVE: [
    "The application is deactivated.",
    "Die Anwendung ist deaktiviert.",
    "L’application est désactivée.",
    "La aplicación está desactivada.",
  ],
  PROJECT_INACTIVE: [
    "The project is deactivated.",
    "Das Projekt ist deaktiviert.",
    "Le projet est désactivé.",
    "El proyecto está desactivado.",
  ],
  ORGANIZATION_INACTIVE: [
    "The organization of the application is deactivated.",
    "Die Organisation der Anwendung ist deaktiviert.",
    "L’organisation de l’application est désactivée.",
    "La organización de la aplicación está desactivada.",
  ],
  API_APPLICATION: [
    "An API signs nobody in.",
    "Eine API meldet niemanden an.",
    "Une API ne connecte personne.",
    "Una API no inicia sesión a nadie.",
  ],
  NO_REDIRECT_URI: [
    "It has no redirect URI that a browser may be sent to.",
    "Sie hat keine Redirect-URI, zu der ein Browser gehen darf.",
    "Elle n’a pas d’URI de redirection utilisable.",
    "No tiene ninguna URI de redirección utilizable.",
  ],
  REQUEST_INVALID: [
    "The configuration does not allow this request.",
    "Die Konfiguration erlaubt diese Anfrage nicht.",
    "La configuration n’autorise pas cette demande.",
    "La configuración no permite esta solicitud.",
  ],
  MACHINE: [
    "Machines sign in only with keys or tokens.",
    "Maschinen melden sich nur mit Schlüsseln oder Token an.",
    "Les machines n’utilisent que des clés ou des jetons.",
    "Las máquinas solo usan claves o tokens.",
  ],
  USER_INACTIVE: [
    "The user is deactivated.",
    "Der Benutzer ist deaktiviert.",
    "L’utilisateur est désactivé.",
    "El usuario está desactivado.",
  ],
  USER_ORGANIZATION_INACTIVE: [
    "The user’s organization is deactivated.",
    "Die Organisation des Benutzers ist deaktiviert.",
    "L’organisation de l’utilisateur est désactivée.",
    "La organización del usuario está desactivada.",
  ],
  PASSWORD: ["With the password.", "Mit dem Passwort.", "Avec le mot de passe.", "Con la contraseña."],
  PASSKEY: ["Only with a passkey.", "Nur mit einem Passkey.", "Uniquement avec une passkey.", "Solo con una passkey."],
  MAILED_CODE: [
    "Only with a code by mail.",
    "Nur mit einem Code per Mail.",
    "Uniquement avec un code par e-mail.",
    "Solo con un código por correo.",
  ],
  NO_CREDENTIAL: [
    "The user has no password and no passkey, and gets no codes by mail.",
    "Der Benutzer hat weder Passwort noch Passkey und erhält keine Codes per Mail.",
    "L’utilisateur n’a ni mot de passe ni passkey et ne reçoit pas de code par e-mail.",
    "El usuario no tiene contraseña ni passkey y no recibe códigos por correo.",
  ],
  LOCKED: [
    "The user is locked and has no passkey.",
    "Der Benutzer ist gesperrt und hat keinen Passkey.",
    "L’utilisateur est verrouillé et n’a pas de passkey.",
    "El usuario está bloqueado y no tiene passkey.",
  ],
  WAITING: [
    "After failed sign-ins, unknown browsers have to wait.",
    "Nach Fehlversuchen müssen unbekannte Browser warten.",
    "Après des échecs, les navigateurs inconnus doivent attendre.",
    "Tras intentos fallidos, los navegadores desconocidos deben esperar.",
  ],
  NO_CHANGE: ["No change is needed.", "Keine Änderung nötig.", "Aucun changement requis.", "No hace falta cambiarla."],
  CHANGE_OF_FIRST: [
    "The first password has to be changed.",
    "Das erste Passwort muss geändert werden.",
    "Le premier mot de passe doit être changé.",
    "La primera contraseña debe cambiarse.",
  ],
  CHANGE_AFTER_ADMINISTRATOR: [
    "An administrator set the password, so the policy asks for a change.",
    "Ein Administrator hat das Passwort gesetzt; die Richtlinie verlangt eine Änderung.",
    "Un administrateur a défini le mot de passe ; la politique exige un changement.",
    "Un administrador estableció la contraseña; la política exige cambiarla.",
  ],
  CHANGE_OF_OLD: [
    "The password is older than the policy allows.",
    "Das Passwort ist älter, als die Richtlinie erlaubt.",
    "Le mot de passe est trop ancien selon la politique.",
    "La contraseña es más antigua de lo permitido.",
  ],
  FACTOR: [
    "The user has one, so it is asked for.",
    "Der Benutzer hat einen, also wird er verlangt.",
    "L’utilisateur en a un, il est donc demandé.",
    "El usuario tiene uno, así que se pide.",
  ],
  NO_FACTOR: [
    "The user has none and needs none.",
    "Der Benutzer hat keinen und braucht keinen.",
    "L’utilisateur n’en a pas et n’en a pas besoin.",
    "El usuario no tiene ni necesita ninguno.",
  ],
  ENROLMENT_BY_POLICY: [
    "The policy requires one, so the user has to enrol it.",
    "Die Richtlinie verlangt einen; der Benutzer muss ihn einrichten.",
    "La politique en exige un : l’utilisateur doit l’enregistrer.",
    "La política exige uno; el usuario debe registrarlo.",
  ],
  ENROLMENT_OF_USER: [
    "This user must have one and has to enrol it.",
    "Dieser Benutzer muss einen haben und ihn einrichten.",
    "Cet utilisateur doit en avoir un et l’enregistrer.",
    "Este usuario debe tener uno y registrarlo.",
  ],
  USER_GRANT: ["By a user grant.", "Durch eine Berechtigung.", "Par une autorisation.", "Por una autorización."],
  OWN_PROJECT: [
    "The project belongs to the user’s organization.",
    "Das Projekt gehört der Organisation des Benutzers.",
    "Le projet appartient à l’organisation de l’utilisateur.",
    "El proyecto pertenece a la organización del usuario.",
  ],
  PROJECT_GRANT: [
    "The project is granted to the user’s organization.",
    "Das Projekt ist der Organisation des Benutzers gewährt.",
    "Le projet est accordé à l’organisation de l’utilisateur.",
    "El proyecto está concedido a la organización del usuario.",
  ],
  GRANT_REQUIRED: [
    "The project requires a user grant, and the user has none.",
    "Das Projekt verlangt eine Berechtigung, und der Benutzer hat keine.",
    "Le projet exige une autorisation que l’utilisateur n’a pas.",
    "El proyecto exige una autorización que el usuario no tiene.",
  ],
  GRANT_NOT_IN_EFFECT: [
    "None of the user’s grants has an effect.",
    "Keine Berechtigung des Benutzers wirkt.",
    "Aucune autorisation de l’utilisateur n’est en vigueur.",
    "Ninguna autorización del usuario tiene efecto.",
  ],
  PROJECT_NOT_GRANTED: [
    "The project is not granted to the user’s organization, and the user has no grant.",
    "Das Projekt ist der Organisation des Benutzers nicht gewährt, und der Benutzer hat keine Berechtigung.",
    "Le projet n’est pas accordé à l’organisation de l’utilisateur, qui n’a pas d’autorisation.",
    "El proyecto no está concedido a la organización del usuario y este no tiene autorización.",
  ],
  OWN_ORGANIZATION: [
    "It is the user’s own organization.",
    "Es ist die eigene Organisation.",
    "C’est l’organisation de l’utilisateur.",
    "Es la organización del usuario.",
  ],
  GRANT_OF_ORGANIZATION: [
    "The organization has given the user a role in the project.",
    "Die Organisation hat dem Benutzer eine Rolle im Projekt gegeben.",
    "L’organisation a donné un rôle à l’utilisateur dans le projet.",
    "La organización ha dado al usuario un rol en el proyecto.",
  ],
  NO_GRANT_OF_ORGANIZATION: [
    "It is not the user’s own, and has given the user no role that counts.",
    "Es ist nicht die eigene, und sie hat dem Benutzer keine wirksame Rolle gegeben.",
    "Ce n’est pas la sienne, et elle ne lui a donné aucun rôle en vigueur.",
    "No es la suya y no le ha dado ningún rol en vigor.",
  ],
  CONSENT_NOT_NEEDED: ["None is needed.", "Keine nötig.", "Aucun n’est requis.", "No hace falta."],
  CONSENT_GIVEN: [
    "The user has given it before.",
    "Der Benutzer hat sie schon gegeben.",
    "L’utilisateur l’a déjà donné.",
    "El usuario ya lo ha dado.",
  ],
  CONSENT_NEEDED: [
    "The application of another organization asks the user first.",
    "Die Anwendung einer anderen Organisation fragt den Benutzer zuerst.",
    "L’application d’une autre organisation demande d’abord à l’utilisateur.",
    "La aplicación de otra organización pregunta antes al usuario.",
  ],
  NO_ISSUER: [
    "PUBLIC_URL cannot be an issuer of tokens.",
    "PUBLIC_URL kann kein Issuer von Token sein.",
    "PUBLIC_URL ne peut pas émettre de jetons.",
    "PUBLIC_URL no puede emitir tokens.",
  ],
} satisfies Texts;

/** The reasons why a grant has no effect or a decision is no. */
export const problemTexts = {
  INACTIVE: ["Deactivated", "Deaktiviert", "Désactivée", "Desactivada"],
  EXPIRED: ["Ended", "Beendet", "Terminée", "Terminada"],
  PROJECT_INACTIVE: [
    "The project is deactivated",
    "Das Projekt ist deaktiviert",
    "Le projet est désactivé",
    "El proyecto está desactivado",
  ],
  ORGANIZATION_INACTIVE: [
    "An organization is deactivated",
    "Eine Organisation ist deaktiviert",
    "Une organisation est désactivée",
    "Una organización está desactivada",
  ],
  GIVEN_UP: [
    "The user, or the user’s organization, has given the roles up",
    "Der Benutzer oder seine Organisation hat die Rollen aufgegeben",
    "L’utilisateur ou son organisation a renoncé aux rôles",
    "El usuario o su organización ha renunciado a los roles",
  ],
  ROLE_NOT_HELD: [
    "No user grant gives the role",
    "Keine Berechtigung gibt die Rolle",
    "Aucune autorisation ne donne le rôle",
    "Ninguna autorización da el rol",
  ],
  USER_GRANT_INACTIVE: [
    "The user grant is deactivated",
    "Die Berechtigung ist deaktiviert",
    "L’autorisation est désactivée",
    "La autorización está desactivada",
  ],
  USER_GRANT_EXPIRED: [
    "The user grant has ended",
    "Die Berechtigung ist beendet",
    "L’autorisation a pris fin",
    "La autorización ha terminado",
  ],
  USER_INACTIVE: [
    "The user, or the user’s organization, is deactivated",
    "Der Benutzer oder seine Organisation ist deaktiviert",
    "L’utilisateur ou son organisation est désactivé",
    "El usuario o su organización está desactivado",
  ],
} satisfies Texts;

export const originTexts = {
  SIGN_IN: ["Sign-in", "Anmeldung", "Connexion", "Inicio de sesión"],
  PROFILE: ["Profile", "Profil", "Profil", "Perfil"],
  GRANTS: ["User grants", "Berechtigungen", "Autorisations", "Autorizaciones"],
  USER_METADATA: [
    "Metadata of the user",
    "Metadaten des Benutzers",
    "Métadonnées de l’utilisateur",
    "Metadatos del usuario",
  ],
  ORGANIZATION_METADATA: [
    "Metadata of the organization",
    "Metadaten der Organisation",
    "Métadonnées de l’organisation",
    "Metadatos de la organización",
  ],
} satisfies Texts;
