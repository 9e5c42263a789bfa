import type { Texts } from "../language.ts";

/** Texts of refusals of a subscription and its deliveries. */
export const subscriptionTexts = {
  SUBSCRIPTION_NOT_FOUND: {
    en: "Subscription {id} does not exist.",
    de: "Das Abonnement {id} existiert nicht.",
    fr: "L’abonnement {id} n’existe pas.",
    es: "La suscripción {id} no existe.",
  },
  SUBSCRIPTION_LIMIT: {
    en: "An organization can have at most {limit} subscriptions.",
    de: "Eine Organisation hat höchstens {limit} Abonnements.",
    fr: "Une organisation a au plus {limit} abonnements.",
    es: "Una organización tiene como máximo {limit} suscripciones.",
  },
  DELIVERY_NOT_FOUND: {
    en: "Delivery {id} does not exist, or has arrived.",
    de: "Die Zustellung {id} existiert nicht oder ist angekommen.",
    fr: "L’envoi {id} n’existe pas, ou est arrivé.",
    es: "El envío {id} no existe o ya ha llegado.",
  },
  DELIVERY_EXPIRED: {
    en: "Delivery {id} cannot be sent again: its code or link no longer works, or is no longer kept.",
    de: "Die Zustellung {id} kann nicht erneut gesendet werden: Ihr Code oder Link gilt nicht mehr oder ist nicht mehr gespeichert.",
    fr: "L’envoi {id} ne peut pas être répété : son code ou son lien n’est plus valable, ou n’est plus conservé.",
    es: "El envío {id} no se puede repetir: su código o enlace ya no es válido o ya no se conserva.",
  },
  DELIVERY_NOT_WANTED: {
    en: "Delivery {id} cannot be sent again: its user or application is gone, or the application no longer wants to learn of sign-outs.",
    de: "Die Zustellung {id} kann nicht erneut gesendet werden: Den Benutzer oder die Anwendung gibt es nicht mehr, oder die Anwendung will von Abmeldungen nichts mehr erfahren.",
    fr: "L’envoi {id} ne peut pas être répété : l’utilisateur ou l’application n’existe plus, ou l’application ne veut plus être informée des déconnexions.",
    es: "El envío {id} no se puede repetir: el usuario o la aplicación ya no existe, o la aplicación ya no quiere saber de los cierres de sesión.",
  },
} as const satisfies Record<string, Texts>;
