import type { Texts } from "./language.ts";

/** The texts of the page behind the link that the first start or `recover` printed. */
export const firstRunPageTexts = {
  first_run_title: {
    en: "Choose your password",
    de: "Wählen Sie Ihr Passwort",
    fr: "Choisissez votre mot de passe",
    es: "Elija su contraseña",
  },
  first_run_text: {
    en: "This signs you in. Your previous password, such as the one in the file admin-password, stops working.",
    de: "Damit melden Sie sich an. Ihr bisheriges Passwort, etwa das in der Datei admin-password, gilt dann nicht mehr.",
    fr: "Vous serez ainsi connecté. Votre ancien mot de passe, comme celui du fichier admin-password, cessera de fonctionner.",
    es: "Así iniciará sesión. Su contraseña anterior, como la del archivo admin-password, dejará de funcionar.",
  },
  first_run_missing: {
    en: "Enter a password.",
    de: "Geben Sie ein Passwort ein.",
    fr: "Saisissez un mot de passe.",
    es: "Introduzca una contraseña.",
  },
  first_run_save: {
    en: "Set the password and sign in",
    de: "Passwort festlegen und anmelden",
    fr: "Définir le mot de passe et se connecter",
    es: "Guardar la contraseña e iniciar sesión",
  },
  first_run_passkey_text: {
    en: "Or use a passkey instead of a password. You create it on the next page.",
    de: "Oder verwenden Sie statt eines Passworts einen Passkey. Sie erstellen ihn auf der nächsten Seite.",
    fr: "Ou utilisez une clé d’accès au lieu d’un mot de passe. Vous la créez à la page suivante.",
    es: "O use una llave de acceso en lugar de una contraseña. La creará en la página siguiente.",
  },
  first_run_passkey: {
    en: "Sign in and create a passkey",
    de: "Anmelden und Passkey erstellen",
    fr: "Se connecter et créer une clé d’accès",
    es: "Iniciar sesión y crear una llave de acceso",
  },
  first_run_factor: {
    en: "A policy requires a second factor. Set a password first: the sign-in with it then asks for the factor.",
    de: "Eine Richtlinie verlangt einen zweiten Faktor. Legen Sie zuerst ein Passwort fest: Die Anmeldung damit fragt dann nach dem Faktor.",
    fr: "Une règle exige un second facteur. Définissez d’abord un mot de passe\u202f: la connexion demandera ensuite le facteur.",
    es: "Una directiva exige un segundo factor. Guarde primero una contraseña: al iniciar sesión con ella se pedirá el factor.",
  },
  first_run_over: {
    en: "This link was already used, or has expired. The command “postern recover --link” prints a new one.",
    de: "Dieser Link wurde schon verwendet oder ist abgelaufen. Der Befehl „postern recover --link“ gibt einen neuen aus.",
    fr: "Ce lien a déjà été utilisé ou a expiré. La commande «\u202fpostern recover --link\u202f» en affiche un nouveau.",
    es: "Este enlace ya se ha usado o ha caducado. La orden «postern recover --link» muestra uno nuevo.",
  },
  first_run_elsewhere: {
    en: "The link of the first start works once, within ten minutes, and only in a browser on the machine that runs Postern. Elsewhere, and in a container, use one that the command “postern recover --link” prints.",
    de: "Der Link des ersten Starts gilt einmal, zehn Minuten lang und nur in einem Browser auf dem Rechner, auf dem Postern läuft. Anderswo und in einem Container verwenden Sie einen, den der Befehl „postern recover --link“ ausgibt.",
    fr: "Le lien du premier démarrage fonctionne une fois, pendant dix minutes, et seulement dans un navigateur sur la machine qui exécute Postern. Ailleurs, et dans un conteneur, utilisez celui qu’affiche la commande «\u202fpostern recover --link\u202f».",
    es: "El enlace del primer inicio funciona una vez, durante diez minutos, y solo en un navegador de la máquina que ejecuta Postern. En otro lugar, y en un contenedor, use el que muestra la orden «postern recover --link».",
  },
} as const satisfies Record<string, Texts>;
