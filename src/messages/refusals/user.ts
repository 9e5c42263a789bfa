import type { Texts } from "../language.ts";

/** Texts of refusals of a user, its id, its username and its erasure. */
export const userTexts = {
  USER_NOT_FOUND: {
    en: "User {id} does not exist.",
    de: "Der Benutzer {id} existiert nicht.",
    fr: "L’utilisateur {id} n’existe pas.",
    es: "El usuario {id} no existe.",
  },
  LOGIN_NAME_TAKEN: {
    en: 'Login name "{name}" is taken.',
    de: "Der Anmeldename „{name}“ ist schon vergeben.",
    fr: "Le nom de connexion «\u202f{name}\u202f» est déjà pris.",
    es: "El nombre de inicio de sesión «{name}» ya está en uso.",
  },
  USER_INACTIVE: {
    en: "The user is deactivated, so no code is sent.",
    de: "Der Benutzer ist deaktiviert, daher wird kein Code gesendet.",
    fr: "L’utilisateur est désactivé, aucun code n’est donc envoyé.",
    es: "El usuario está desactivado, por lo que no se envía ningún código.",
  },
  USER_NOT_HUMAN: {
    en: "The user is a machine; only people have full names, passwords and phone numbers.",
    de: "Der Benutzer ist eine Maschine; das gibt es nur für Menschen, die Vor- und Nachnamen, Passwort und Telefon haben.",
    fr: "L’utilisateur est une machine, et ceci ne concerne que les personnes, qui ont prénom, nom, mot de passe et téléphone.",
    es: "El usuario es una máquina, y esto es solo para personas, que tienen nombre, apellidos, contraseña y teléfono.",
  },
  USER_NOT_MACHINE: {
    en: "The user is a person, but this is only for machines.",
    de: "Der Benutzer ist ein Mensch, und das gibt es nur für Maschinen.",
    fr: "L’utilisateur est une personne, et ceci ne concerne que les machines.",
    es: "El usuario es una persona, y esto es solo para máquinas.",
  },
  USER_ID_RESERVED: {
    en: 'Must not be "me", which stands for the caller.',
    de: "Das darf nicht „me“ sein, das für den Aufrufer steht.",
    fr: "Ne doit pas être «\u202fme\u202f», qui désigne l’appelant.",
    es: "No debe ser «me», que representa a quien llama.",
  },
  USER_ID_OF_POLICY: {
    en: 'Must not be "{id}", which stands for a policy.',
    de: "Das darf nicht „{id}“ sein, das für eine Richtlinie steht.",
    fr: "Ne doit pas être «\u202f{id}\u202f», qui désigne une politique.",
    es: "No debe ser «{id}», que representa una política.",
  },
  USERNAME_RESERVED: {
    en: "Must not end in @ and what looks like the id of an organization.",
    de: "Das darf nicht mit @ und etwas enden, das wie die ID einer Organisation aussieht.",
    fr: "Ne doit pas se terminer par @ et ce qui ressemble à l’identifiant d’une organisation.",
    es: "No debe terminar en @ y algo que parezca el identificador de una organización.",
  },
  USERNAME_MIXED_SCRIPTS: {
    en: "All letters must be of one alphabet: do not mix Latin, Cyrillic and Greek ones, which look alike.",
    de: "Alle Buchstaben müssen aus einem Alphabet sein: Mischen Sie nicht lateinische, kyrillische und griechische, die gleich aussehen.",
    fr: "Toutes les lettres doivent venir d’un seul alphabet\u202f: ne mélangez pas les latines, les cyrilliques et les grecques, qui se ressemblent.",
    es: "Todas las letras deben ser de un solo alfabeto: no mezcle latinas, cirílicas y griegas, que se parecen.",
  },
  USERNAME_OF_OTHER_ADDRESS: {
    en: "If it is an email address, it must be your own.",
    de: "Wenn das eine E-Mail-Adresse ist, muss es Ihre eigene sein.",
    fr: "Si c’est une adresse e-mail, ce doit être la vôtre.",
    es: "Si es una dirección de correo electrónico, debe ser la suya.",
  },
  USERNAME_NOT_ADDRESS: {
    en: "In this organization, it must be your email address.",
    de: "In dieser Organisation muss das Ihre E-Mail-Adresse sein.",
    fr: "Dans cette organisation, ce doit être votre adresse e-mail.",
    es: "En esta organización debe ser su correo electrónico.",
  },
  ERASURE_NOT_SCHEDULED: {
    en: "This user is not waiting for erasure and cannot be restored.",
    de: "Dieser Benutzer wartet nicht auf seine endgültige Löschung und kann nicht wiederhergestellt werden.",
    fr: "Cet utilisateur n’est pas en attente d’effacement et ne peut pas être restauré.",
    es: "Este usuario no está pendiente de borrado definitivo y no se puede restaurar.",
  },
  SELF_ERASURE_OFF: {
    en: "Accounts of this organization can be deleted only by its administrators.",
    de: "Konten dieser Organisation können nur von deren Administratoren gelöscht werden.",
    fr: "Les comptes de cette organisation ne peuvent être supprimés que par ses administrateurs.",
    es: "Solo los administradores de esta organización pueden eliminar sus cuentas.",
  },
} as const satisfies Record<string, Texts>;
