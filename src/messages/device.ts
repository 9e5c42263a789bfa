import type { Texts } from "./language.ts";

/** The texts of the pages on which a user signs a device in. */
export const deviceTexts = {
  device_title: {
    en: "Sign in on a device",
    de: "Auf einem Gerät anmelden",
    fr: "Se connecter sur un appareil",
    es: "Iniciar sesión en un dispositivo",
  },
  device_enter: {
    en: "Enter the code that your device shows.",
    de: "Geben Sie den Code ein, den Ihr Gerät anzeigt.",
    fr: "Saisissez le code affiché par votre appareil.",
    es: "Introduzca el código que muestra su dispositivo.",
  },
  device_compare: {
    en: "Continue only if your device shows exactly this code.",
    de: "Fahren Sie nur fort, wenn Ihr Gerät genau diesen Code anzeigt.",
    fr: "Ne continuez que si votre appareil affiche exactement ce code.",
    es: "Continúe solo si su dispositivo muestra exactamente este código.",
  },
  device_unknown: {
    en: "This code is wrong, was already used, or has expired. Your device can show a new one.",
    de: "Dieser Code ist falsch, wurde schon verwendet oder ist abgelaufen. Ihr Gerät kann einen neuen anzeigen.",
    fr: "Ce code est incorrect, a déjà été utilisé ou a expiré. Votre appareil peut en afficher un nouveau.",
    es: "Este código no es correcto, ya se ha usado o ha caducado. Su dispositivo puede mostrar uno nuevo.",
  },
  device_confirm_title: {
    en: "Sign in to {application} on your device?",
    de: "Auf Ihrem Gerät bei {application} anmelden?",
    fr: "Se connecter à {application} sur votre appareil\u202f?",
    es: "¿Iniciar sesión en {application} en su dispositivo?",
  },
  device_confirm_text: {
    en: "Your device shows the code {code}. If it does not, or if you did not start this yourself, cancel: someone is trying to use your account.",
    de: "Ihr Gerät zeigt den Code {code} an. Wenn nicht, oder wenn Sie dies nicht selbst begonnen haben, brechen Sie ab: Jemand will Ihr Konto benutzen.",
    fr: "Votre appareil affiche le code {code}. Si ce n’est pas le cas, ou si ce n’est pas vous qui avez demandé cette connexion, annulez\u202f: quelqu’un veut utiliser votre compte.",
    es: "Su dispositivo muestra el código {code}. Si no es así, o si no ha sido usted quien ha empezado esto, cancele: alguien quiere usar su cuenta.",
  },
  device_api: {
    en: "It gets access to Postern itself and acts there on your behalf.",
    de: "Sie bekommt Zugang zu Postern selbst und handelt dort in Ihrem Namen.",
    fr: "Elle obtient l’accès à Postern lui-même et y agit en votre nom.",
    es: "Obtiene acceso al propio Postern y allí actúa en nombre de usted.",
  },
  device_may: {
    en: "{application} will be able to:",
    de: "{application} kann dann:",
    fr: "{application} pourra\u202f:",
    es: "{application} podrá:",
  },
  device_done: {
    en: "Your device is signed in",
    de: "Ihr Gerät ist angemeldet",
    fr: "Votre appareil est connecté",
    es: "Su dispositivo ha iniciado sesión",
  },
  device_done_text: {
    en: "{application} continues there by itself. You can close this page.",
    de: "{application} fährt dort von selbst fort. Sie können diese Seite schließen.",
    fr: "{application} y poursuit automatiquement. Vous pouvez fermer cette page.",
    es: "{application} continúa allí automáticamente. Puede cerrar esta página.",
  },
  device_not_signed_in: {
    en: "Your device is not signed in",
    de: "Ihr Gerät ist nicht angemeldet",
    fr: "Votre appareil n’est pas connecté",
    es: "Su dispositivo no ha iniciado sesión",
  },
  device_cancelled: {
    en: "You cancelled. {application} received nothing, and you can close this page.",
    de: "Sie haben abgebrochen. {application} hat nichts erhalten, und Sie können diese Seite schließen.",
    fr: "Vous avez annulé. Rien n’a été transmis à {application}, et vous pouvez fermer cette page.",
    es: "Ha cancelado. {application} no ha recibido nada, y puede cerrar esta página.",
  },
  device_not_permitted: {
    en: "Your account may not use {application}. To try another one, ask your device for a new code.",
    de: "Ihr Konto darf {application} nicht benutzen. Um ein anderes zu versuchen, lassen Sie Ihr Gerät einen neuen Code anzeigen.",
    fr: "Votre compte ne peut pas utiliser {application}. Pour en essayer un autre, demandez un nouveau code à votre appareil.",
    es: "Su cuenta no puede usar {application}. Para probar con otra, pida a su dispositivo un código nuevo.",
  },
  device_over: {
    en: "The code of your device was already used or has expired.",
    de: "Der Code Ihres Geräts wurde schon verwendet oder ist abgelaufen.",
    fr: "Le code de votre appareil a déjà été utilisé, ou a expiré.",
    es: "El código de su dispositivo ya se ha usado o ha caducado.",
  },
} as const satisfies Record<string, Texts>;
