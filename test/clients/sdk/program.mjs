// Does the four operations with the packed library, behind a relay that loses every other answer.
import { reasonOf, violationsOf } from "@postern/client";
import { connectPostern } from "@postern/client/node";

const { POSTERN_URL: url, POSTERN_TOKEN: admin, POSTERN_USER_ID: userId, POSTERN_PROJECT_ID: projectId } = process.env;
const { POSTERN_LOGIN_NAME: loginName, POSTERN_PASSWORD: oldPassword } = process.env;

let asked = 0;
const postern = connectPostern({
  url,
  token: async () => {
    asked += 1;
    return `${admin}\n`;
  },
});
const grant = await postern.userGrants.addUserGrant({ userId, projectId, roleKeys: ["viewer"] });
const again = await refusalOf(postern.userGrants.addUserGrant({ userId, projectId, roleKeys: ["viewer"] }));
const application = await postern.applications.createOidcApplication({ projectId, name: "From the library" });
const phone = await postern.users.changePhone({ userId, phone: "+41446681800", returnCode: {} });
const wrong = await refusalOf(postern.users.changePhone({ userId, phone: "12" }));
const session = await connectPostern({ url }).sessions.createSession({ loginName, password: oldPassword });
const own = connectPostern({ url, token: () => session.token });
const changed = await own.accounts.changePassword({ oldPassword, newPassword: "Green-Teapot-77" });

console.log(
  JSON.stringify({
    grant: grant.userGrantId !== "",
    again: reasonOf(again),
    application: application.clientId !== "",
    code: phone.verificationCode?.length,
    wrong: violationsOf(wrong).map(({ field }) => field),
    changed: (changed.details?.sequence ?? 0n) > 1n,
    asked,
  }),
);

function refusalOf(call) {
  return call.then(
    () => undefined,
    (error) => error,
  );
}
