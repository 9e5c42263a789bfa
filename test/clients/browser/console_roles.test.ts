import { rolesOfTheConsole } from "./console/roles.ts";
import { scenesInChromium } from "./console/scenes.ts";

scenesInChromium(rolesOfTheConsole);
