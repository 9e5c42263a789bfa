package postern;

import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.util.JSONObjectUtils;
import java.security.KeyFactory;
import java.security.interfaces.RSAPrivateCrtKey;
import java.security.interfaces.RSAPublicKey;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.RSAPublicKeySpec;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.oauth2.client.endpoint.NimbusJwtClientAuthenticationParametersConverter;
import org.springframework.security.oauth2.client.endpoint.OAuth2ClientCredentialsGrantRequest;
import org.springframework.security.oauth2.client.endpoint.RestClientClientCredentialsTokenResponseClient;
import org.springframework.security.oauth2.client.registration.ClientRegistration;
import org.springframework.security.oauth2.core.AuthorizationGrantType;
import org.springframework.security.oauth2.core.ClientAuthenticationMethod;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** The tokens of a machine, by its secret and by its key file. */
@Configuration
@RestController
public class Machine {
  private final Map<String, Object> file;
  private final String scope;

  Machine(@Value("${KEY_FILE:{}}") String file, @Value("${SCOPE:}") String scope) throws Exception {
    this.file = JSONObjectUtils.parse(file);
    this.scope = scope;
  }

  @Bean
  @Order(2)
  SecurityFilterChain machines(HttpSecurity http) throws Exception {
    return http.securityMatcher("/machine").authorizeHttpRequests(requests -> requests.anyRequest().permitAll()).build();
  }

  @GetMapping("/machine")
  List<String> tokens(@Value("${CLIENT_SECRET}") String secret) {
    var bySecret = registration(ClientAuthenticationMethod.CLIENT_SECRET_BASIC).clientSecret(secret).build();
    var byKey = registration(ClientAuthenticationMethod.PRIVATE_KEY_JWT).build();
    return List.of(token(bySecret), token(byKey));
  }

  private ClientRegistration.Builder registration(ClientAuthenticationMethod method) {
    return ClientRegistration.withRegistrationId("machine")
        .clientId(file.get("clientId").toString())
        .clientAuthenticationMethod(method)
        .authorizationGrantType(AuthorizationGrantType.CLIENT_CREDENTIALS)
        .tokenUri(file.get("tokenEndpoint").toString())
        .scope(scope);
  }

  private String token(ClientRegistration registration) {
    var client = new RestClientClientCredentialsTokenResponseClient();
    client.addParametersConverter(new NimbusJwtClientAuthenticationParametersConverter<>(ignored -> key()));
    var response = client.getTokenResponse(new OAuth2ClientCredentialsGrantRequest(registration));
    return response.getAccessToken().getTokenValue();
  }

  private JWK key() {
    try {
      var encoded = file.get("privateKey").toString().replaceAll("-----[A-Z ]+-----|\\s", "");
      var keys = KeyFactory.getInstance("RSA");
      var key = (RSAPrivateCrtKey) keys.generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(encoded)));
      var half = (RSAPublicKey) keys.generatePublic(new RSAPublicKeySpec(key.getModulus(), key.getPublicExponent()));
      return new RSAKey.Builder(half).privateKey(key).keyID(file.get("keyId").toString()).build();
    } catch (Exception cause) {
      throw new IllegalStateException(cause);
    }
  }
}
