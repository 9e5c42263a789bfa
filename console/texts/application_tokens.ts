import type { Texts } from "./text.ts";

/** The texts about the lifetimes of an application's tokens, and its authentication. */
export const applicationTokenTexts = {
  title: ["Tokens and sign-out", "Token und Abmeldung", "Jetons et déconnexion", "Tokens y cierre de sesión"],
  about: [
    "Where nothing is set, the instance decides.",
    "Wo nichts festgelegt ist, entscheidet die Instanz.",
    "Sans valeur ici, celle de l’instance s’applique.",
    "Donde no hay valor, decide la instancia.",
  ],
  ofInstance: ["As the instance has it", "Wie in der Instanz", "Comme dans l’instance", "Como en la instancia"],
  accessTokenLifetime: [
    "Access token, in minutes",
    "Zugriffstoken, in Minuten",
    "Jeton d’accès, en minutes",
    "Token de acceso, en minutos",
  ],
  idTokenLifetime: [
    "ID token, in minutes",
    "ID-Token, in Minuten",
    "Jeton d’identité, en minutes",
    "Token de identidad, en minutos",
  ],
  refreshTokenIdleLifetime: [
    "Unused refresh token, in days",
    "Unbenutztes Refresh-Token, in Tagen",
    "Jeton d’actualisation inutilisé, en jours",
    "Token de actualización sin usar, en días",
  ],
  refreshTokenLifetime: [
    "New sign-in after, in days",
    "Neue Anmeldung nach, in Tagen",
    "Nouvelle connexion après, en jours",
    "Nuevo inicio de sesión tras, en días",
  ],
  clockSkew: [
    "Clock difference, in seconds",
    "Abweichung der Uhren, in Sekunden",
    "Écart d’horloge, en secondes",
    "Diferencia de relojes, en segundos",
  ],
  clockSkewAbout: [
    "Tokens stay valid that much longer.",
    "So viel länger bleiben Token gültig.",
    "Les jetons restent valides d’autant plus longtemps.",
    "Los tokens siguen siendo válidos ese tiempo de más.",
  ],
  backChannelLogoutUri: [
    "Back-channel logout URI",
    "URI für Back-Channel-Logout",
    "URI de déconnexion back-channel",
    "URI de cierre de sesión back-channel",
  ],
  backChannelLogoutUriAbout: [
    "Is told when a session ends in which the application got tokens",
    "Erfährt, wenn eine Sitzung endet, in der die Anwendung Token bekam",
    "Est informée de la fin d’une session où l’application a reçu des jetons",
    "Recibe un aviso cuando termina una sesión en la que la aplicación obtuvo tokens",
  ],
  changeAuthMethod: [
    "Change authentication",
    "Authentifizierung ändern",
    "Changer l’authentification",
    "Cambiar autenticación",
  ],
  changeAuthMethodAbout: [
    "The application cannot get tokens until it is set up for the new way. A secret that is no longer needed ends at once.",
    "Die Anwendung erhält keine Token, bis sie für den neuen Weg eingerichtet ist. Ein nicht mehr benötigtes Geheimnis endet sofort.",
    "L’application n’obtient plus de jetons avant d’être adaptée. Un secret devenu inutile cesse aussitôt.",
    "La aplicación no obtiene tokens hasta que esté adaptada. Un secreto que ya no se necesita termina de inmediato.",
  ],
} satisfies Texts;
