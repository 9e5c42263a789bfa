import type { Texts } from "../language.ts";

/** Texts of compliance problems with OpenID Connect and good practice; `{uris}` lists the redirect URIs at fault. */
export const complianceTexts = {
  NO_REDIRECT_URIS: {
    en: "The application has no redirect URI, so nobody can sign in to it.",
    de: "Die Anwendung hat keine Redirect-URI, daher kann sich niemand bei ihr anmelden.",
    fr: "L’application n’a pas d’URI de redirection, personne ne peut donc s’y connecter.",
    es: "La aplicación no tiene ninguna URI de redirección, por lo que nadie puede iniciar sesión en ella.",
  },
  HTTP_ON_USER_AGENT: {
    en: "An application that runs in the browser must use https: {uris}.",
    de: "Eine Anwendung im Browser muss https verwenden: {uris}.",
    fr: "Une application dans le navigateur doit utiliser https\u202f: {uris}.",
    es: "Una aplicación en el navegador debe usar https: {uris}.",
  },
  HTTP_ON_PUBLIC_WEB: {
    en: "A web application without a client secret or key must use https: {uris}.",
    de: "Eine Webanwendung ohne Client-Secret oder Schlüssel muss https verwenden: {uris}.",
    fr: "Une application web sans secret client ni clé doit utiliser https\u202f: {uris}.",
    es: "Una aplicación web sin secreto de cliente ni clave debe usar https: {uris}.",
  },
  HTTP_ON_CONFIDENTIAL_WEB: {
    en: "Anybody on the network can read the codes sent to an http URI (RFC 9700, 2.6), so a web application should use https: {uris}.",
    de: "An eine http-URI gesendete Codes kann jeder im Netz lesen (RFC 9700, 2.6), darum sollte eine Webanwendung https verwenden: {uris}.",
    fr: "N’importe qui sur le réseau peut lire les codes envoyés à une URI en http (RFC 9700, 2.6)\u202f; une application web devrait utiliser https\u202f: {uris}.",
    es: "Cualquiera en la red puede leer los códigos enviados a una URI con http (RFC 9700, 2.6), así que una aplicación web debería usar https: {uris}.",
  },
  CUSTOM_SCHEME_ON_WEB: {
    en: "A web application cannot use a custom scheme: {uris}.",
    de: "Eine Webanwendung kann kein eigenes Schema verwenden: {uris}.",
    fr: "Une application web ne peut pas utiliser de schéma personnalisé\u202f: {uris}.",
    es: "Una aplicación web no puede usar un esquema propio: {uris}.",
  },
  CUSTOM_SCHEME_ON_USER_AGENT: {
    en: "An application that runs in the browser cannot use a custom scheme: {uris}.",
    de: "Eine Anwendung im Browser kann kein eigenes Schema verwenden: {uris}.",
    fr: "Une application dans le navigateur ne peut pas utiliser de schéma personnalisé\u202f: {uris}.",
    es: "Una aplicación en el navegador no puede usar un esquema propio: {uris}.",
  },
  NATIVE_HTTP_NOT_LOOPBACK: {
    en: "A native application may use http only with a loopback address: {uris}.",
    de: "Eine native Anwendung darf http nur auf der Loopback-Adresse verwenden: {uris}.",
    fr: "Une application native ne peut utiliser http que sur l’adresse de bouclage\u202f: {uris}.",
    es: "Una aplicación nativa solo puede usar http en la dirección de bucle local: {uris}.",
  },
  NATIVE_SCHEME_WITHOUT_DOT: {
    en: "The scheme of a native application should be a domain name in reverse order, such as com.example.app: {uris}.",
    de: "Das Schema einer nativen Anwendung sollte ein umgekehrter Domainname sein, etwa com.example.app: {uris}.",
    fr: "Le schéma d’une application native devrait être un nom de domaine inversé, comme com.example.app\u202f: {uris}.",
    es: "El esquema de una aplicación nativa debería ser un nombre de dominio invertido, como com.example.app: {uris}.",
  },
  IMPLICIT_CUSTOM_OR_HTTP: {
    en: "The implicit flow requires https redirect URIs: {uris}.",
    de: "Der implizite Ablauf braucht Redirect-URIs mit https: {uris}.",
    fr: "Le flux implicite exige des URI de redirection en https\u202f: {uris}.",
    es: "El flujo implícito requiere URI de redirección con https: {uris}.",
  },
  IMPLICIT_ACCESS_TOKEN: {
    en: "An access token in a URL can leak or be injected (RFC 9700, 2.1.2), so use the response type CODE instead of ID_TOKEN_TOKEN.",
    de: "Ein Access-Token in einer URL kann durchsickern oder untergeschoben werden (RFC 9700, 2.1.2), verwenden Sie darum den Response-Type CODE statt ID_TOKEN_TOKEN.",
    fr: "Un jeton d’accès dans une URL peut fuiter ou être injecté (RFC 9700, 2.1.2)\u202f; utilisez le type de réponse CODE au lieu de ID_TOKEN_TOKEN.",
    es: "Un token de acceso en una URL puede filtrarse o ser inyectado (RFC 9700, 2.1.2), así que use el tipo de respuesta CODE en lugar de ID_TOKEN_TOKEN.",
  },
  USER_AGENT_WITH_AUTH_METHOD: {
    en: "An application that runs in the browser cannot keep a secret, so its auth method must be NONE.",
    de: "Eine Anwendung im Browser kann kein Geheimnis wahren, daher muss ihre Auth-Methode NONE sein.",
    fr: "Une application dans le navigateur ne peut pas garder de secret, sa méthode d’authentification doit donc être NONE.",
    es: "Una aplicación en el navegador no puede guardar un secreto, por lo que su método de autenticación debe ser NONE.",
  },
  NATIVE_WITH_AUTH_METHOD: {
    en: "An application that runs on a device cannot keep a secret, so its auth method must be NONE.",
    de: "Eine Anwendung auf einem Gerät kann kein Geheimnis wahren, daher muss ihre Auth-Methode NONE sein.",
    fr: "Une application sur un appareil ne peut pas garder de secret, sa méthode d’authentification doit donc être NONE.",
    es: "Una aplicación en un dispositivo no puede guardar un secreto, por lo que su método de autenticación debe ser NONE.",
  },
  PRIVATE_KEY_JWT_WITHOUT_KEY: {
    en: "The auth method PRIVATE_KEY_JWT requires a key, but the application has none.",
    de: "Die Auth-Methode PRIVATE_KEY_JWT braucht einen Schlüssel, und die Anwendung hat keinen.",
    fr: "La méthode d’authentification PRIVATE_KEY_JWT exige une clé, et l’application n’en a pas.",
    es: "El método de autenticación PRIVATE_KEY_JWT requiere una clave, y la aplicación no tiene ninguna.",
  },
  REFRESH_WITHOUT_CODE_OR_DEVICE: {
    en: "Refresh tokens are issued only with the authorization code or device code grant type.",
    de: "Refresh-Tokens gibt es nur mit dem Grant-Typ Authorization Code oder Device Code.",
    fr: "Les jetons d’actualisation ne sont délivrés qu’avec le type d’autorisation par code ou par appareil.",
    es: "Los tokens de actualización solo se entregan con el tipo de concesión de código de autorización o de dispositivo.",
  },
  CLOCK_SKEW_TOO_LONG: {
    en: "With a clock skew of more than 5 seconds, tokens are accepted for too long after they expire.",
    de: "Mit einer Zeittoleranz von mehr als 5 Sekunden gelten Tokens nach ihrem Ablauf zu lange weiter.",
    fr: "Avec une tolérance d’horloge de plus de 5 secondes, les jetons sont acceptés trop longtemps après leur expiration.",
    es: "Con una tolerancia de reloj de más de 5 segundos, los tokens se aceptan demasiado tiempo después de caducar.",
  },
  BACK_CHANNEL_LOGOUT_URI_UNUSABLE: {
    en: "The back-channel logout URI must be an absolute https URI without user information or fragment; nothing is sent to {uris}.",
    de: "Die Back-Channel-Logout-URI muss absolut und https sein, ohne Benutzerangaben und Fragment; nichts wird gesendet an {uris}.",
    fr: "L’URI de déconnexion back-channel doit être absolue et en https, sans informations d’utilisateur ni fragment\u202f; rien n’est envoyé à {uris}.",
    es: "La URI de cierre de sesión back-channel debe ser absoluta y https, sin datos de usuario ni fragmento; no se envía nada a {uris}.",
  },
  REDIRECT_URI_FRAGMENT: {
    en: "A redirect URI must not have a fragment: {uris}.",
    de: "Eine Redirect-URI darf kein Fragment haben: {uris}.",
    fr: "Une URI de redirection ne doit pas avoir de fragment\u202f: {uris}.",
    es: "Una URI de redirección no debe tener fragmento: {uris}.",
  },
  REDIRECT_URI_WILDCARD: {
    en: "A redirect URI must be exact, without wildcards: {uris}.",
    de: "Eine Redirect-URI muss genau sein, ohne Platzhalter: {uris}.",
    fr: "Une URI de redirection doit être exacte, sans caractère générique\u202f: {uris}.",
    es: "Una URI de redirección debe ser exacta, sin comodines: {uris}.",
  },
  REDIRECT_URI_RELATIVE: {
    en: "A redirect URI must be absolute and include its scheme: {uris}.",
    de: "Eine Redirect-URI muss absolut sein, mit ihrem Schema: {uris}.",
    fr: "Une URI de redirection doit être absolue, avec son schéma\u202f: {uris}.",
    es: "Una URI de redirección debe ser absoluta, con su esquema: {uris}.",
  },
  REDIRECT_URI_USER_INFORMATION: {
    en: "A redirect URI must not contain user information: {uris}.",
    de: "Eine Redirect-URI darf vor dem Host keine Benutzerangaben haben: {uris}.",
    fr: "Une URI de redirection ne doit pas contenir d’informations d’utilisateur avant son hôte\u202f: {uris}.",
    es: "Una URI de redirección no debe llevar datos de usuario antes del host: {uris}.",
  },
  REDIRECT_URI_DUPLICATE: {
    en: "A redirect URI is listed more than once: {uris}.",
    de: "Eine Redirect-URI ist mehrfach aufgeführt: {uris}.",
    fr: "Une URI de redirection figure plusieurs fois dans la liste\u202f: {uris}.",
    es: "Una URI de redirección aparece más de una vez: {uris}.",
  },
  DANGEROUS_SCHEME: {
    en: "The scheme of a redirect URI can run code or read files: {uris}.",
    de: "Das Schema einer Redirect-URI kann Code ausführen oder Dateien lesen: {uris}.",
    fr: "Le schéma d’une URI de redirection peut exécuter du code ou lire des fichiers\u202f: {uris}.",
    es: "El esquema de una URI de redirección puede ejecutar código o leer archivos: {uris}.",
  },
} as const satisfies Record<string, Texts>;
