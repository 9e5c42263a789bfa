package postern;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import postern.api.AccountServiceApi;
import postern.api.ApplicationServiceApi;
import postern.api.SessionServiceApi;
import postern.api.UserGrantServiceApi;
import postern.api.UserServiceApi;
import postern.model.AddUserGrantBody;
import postern.model.ChangePasswordRequest;
import postern.model.ChangePhoneBody;
import postern.model.CreateOidcApplicationBody;
import postern.model.CreateSessionRequest;
import postern.model.Error;
import postern.model.GoogleRpcBadRequestFieldViolation;
import postern.model.OidcAppType;
import postern.model.OidcApplicationUpdate;

/** What a Java client made of the OpenAPI document can count on. */
class ClientTest {
  static final String userId = System.getenv("POSTERN_USER_ID");
  static final String projectId = System.getenv("POSTERN_PROJECT_ID");
  static final String password = System.getenv("POSTERN_PASSWORD");

  static final ApiClient admin = by(System.getenv("POSTERN_TOKEN"));
  final UserServiceApi users = new UserServiceApi(admin);
  final ApplicationServiceApi applications = new ApplicationServiceApi(admin);
  final UserGrantServiceApi grants = new UserGrantServiceApi(admin);

  static ApiClient by(String token) {
    var client = new ApiClient();
    client.updateBaseUri(System.getenv("POSTERN_URL"));
    if (token != null) {
      client.setRequestInterceptor(request -> request.header("authorization", "Bearer " + token));
    }
    return client;
  }

  @Test
  void changesAPasswordAndIsToldOfAWrongOne() throws ApiException {
    var signIn = new CreateSessionRequest().loginName(System.getenv("POSTERN_LOGIN_NAME")).password(password);
    var session = new SessionServiceApi(by(null)).sessionServiceCreateSession(signIn, null, null);
    var accounts = new AccountServiceApi(by(session.getToken()));

    var change = new ChangePasswordRequest().oldPassword(password).newPassword("Green-Teapot-77");
    var changed = accounts.accountServiceChangePassword(change, null, null, null);
    assertTrue(Long.parseLong(changed.getDetails().getSequence()) > 1);
    assertRefused(
        "400 PASSWORD_MISMATCH oldPassword", () -> accounts.accountServiceChangePassword(change, null, null, null));
  }

  @Test
  void createsAnApplicationAndIsToldOfAMissingProject() throws ApiException {
    var body =
        new CreateOidcApplicationBody()
            .name("Zoë 🦊")
            .redirectUris(List.of("https://app.example/callback"))
            .appType(OidcAppType.OIDC_APP_TYPE_NATIVE);
    var created = applications.applicationServiceCreateOidcApplication(projectId, body, null, null, null, null);
    assertTrue(created.getNoneCompliant());
    assertTrue(created.getComplianceProblems().size() > 0);
    assertTrue(created.getClientSecret().startsWith("cs_"));

    var appId = created.getAppId();
    var update = new OidcApplicationUpdate().name("Renamed");
    applications.applicationServiceUpdateOidcApplication(
        projectId, appId, update, null, null, null, null, null, null, null);
    var application = applications.applicationServiceGetApplication(projectId, appId, null, null, null).getApplication();
    assertEquals("Renamed", application.getName());
    assertEquals(body.getRedirectUris(), application.getOidc().getRedirectUris());

    assertRefused(
        "404 PROJECT_NOT_FOUND project/none",
        () -> applications.applicationServiceCreateOidcApplication("none", body, null, null, null, null));
  }

  @Test
  void changesAPhoneAndIsToldOfEveryWrongField() throws ApiException {
    var body = new ChangePhoneBody().phone("+41 44 668 18 00").returnCode(Map.of());
    var changed = users.userServiceChangePhone(userId, body, null, null, null);
    assertEquals(6, changed.getVerificationCode().length());
    var user = users.userServiceGetUser(userId, null, null).getUser();
    assertEquals("+41446681800", user.getHuman().getPhone());

    var wrong = new ChangePhoneBody().phone("12").returnCode(Map.of()).sendCode(Map.of());
    assertRefused(
        "400 VALIDATION_FAILED phone sendCode returnCode",
        () -> users.userServiceChangePhone(userId, wrong, null, null, null));
  }

  @Test
  void addsAGrantAndIsToldOfOneThatIsThere() throws ApiException {
    var body = new AddUserGrantBody().projectId(projectId).roleKeys(List.of("viewer"));
    var added = grants.userGrantServiceAddUserGrant(userId, body, null, null, null, null);
    var listed =
        grants.userGrantServiceListUserGrants2(userId, null, null, null, null, null, null, null, null, null, null);
    assertEquals(body.getRoleKeys(), listed.getUserGrants().get(0).getRoleKeys());

    assertRefused(
        "409 USER_GRANT_EXISTS user_grant/" + added.getUserGrantId(),
        () -> grants.userGrantServiceAddUserGrant(userId, body, null, null, null, null));
  }

  @Test
  void isAskedForAToken() {
    var accounts = new AccountServiceApi(by(null));
    assertRefused("401 UNAUTHENTICATED", () -> accounts.accountServiceGetMe(null, null, null));
  }

  /** Asserts a refusal by its status, reason, object and wrong fields. */
  static void assertRefused(String expected, Executable call) {
    var failure = assertThrows(ApiException.class, call);
    var words = new ArrayList<>(List.of(String.valueOf(failure.getCode())));
    for (var detail : errorIn(failure).getDetails()) {
      if (detail.getReason() != null) words.add(detail.getReason());
      if (detail.getResourceName() != null) words.add(detail.getResourceType() + "/" + detail.getResourceName());
      if (detail.getFieldViolations() != null)
        detail.getFieldViolations().stream().map(GoogleRpcBadRequestFieldViolation::getField).forEach(words::add);
    }
    assertEquals(expected, String.join(" ", words));
  }

  static Error errorIn(ApiException failure) {
    try {
      return ApiClient.createDefaultObjectMapper().readValue(failure.getResponseBody(), Error.class);
    } catch (java.io.IOException impossible) {
      throw new AssertionError(failure.getResponseBody(), impossible);
    }
  }
}
