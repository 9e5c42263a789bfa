package postern;

import com.nimbusds.jose.jwk.JWK;
import java.text.ParseException;
import java.time.Duration;
import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.server.servlet.context.ServletWebServerInitializedEvent;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.event.EventListener;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.Authentication;
import org.springframework.security.core.context.SecurityContextHolder;
import org.springframework.security.oauth2.client.OAuth2AuthorizeRequest;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClient;
import org.springframework.security.oauth2.client.RefreshTokenOAuth2AuthorizedClientProvider;
import org.springframework.security.oauth2.client.annotation.RegisteredOAuth2AuthorizedClient;
import org.springframework.security.oauth2.client.endpoint.AbstractOAuth2AuthorizationGrantRequest;
import org.springframework.security.oauth2.client.endpoint.NimbusJwtClientAuthenticationParametersConverter;
import org.springframework.security.oauth2.client.endpoint.RestClientAuthorizationCodeTokenResponseClient;
import org.springframework.security.oauth2.client.endpoint.RestClientRefreshTokenTokenResponseClient;
import org.springframework.security.oauth2.client.oidc.authentication.OidcIdTokenDecoderFactory;
import org.springframework.security.oauth2.client.oidc.web.logout.OidcClientInitiatedLogoutSuccessHandler;
import org.springframework.security.oauth2.client.registration.ClientRegistration;
import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;
import org.springframework.security.oauth2.client.web.DefaultOAuth2AuthorizedClientManager;
import org.springframework.security.oauth2.client.web.OAuth2AuthorizedClientRepository;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.security.oauth2.jose.jws.SignatureAlgorithm;
import org.springframework.security.oauth2.jwt.JwtDecoderFactory;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** A web server that signs in with Spring Security. */
@SpringBootApplication
@RestController
public class Program {
  private final DefaultOAuth2AuthorizedClientManager manager;

  Program(
      ClientRegistrationRepository registrations,
      OAuth2AuthorizedClientRepository clients,
      ApplicationEventPublisher events) {
    var refreshing = new RefreshTokenOAuth2AuthorizedClientProvider();
    // Every access token has expired by this clock. The event brings the user of the new ID token into the session.
    refreshing.setClockSkew(Duration.ofDays(1));
    refreshing.setApplicationEventPublisher(events);
    var tokens = new RestClientRefreshTokenTokenResponseClient();
    tokens.addParametersConverter(assertion());
    refreshing.setAccessTokenResponseClient(tokens);
    manager = new DefaultOAuth2AuthorizedClientManager(registrations, clients);
    manager.setAuthorizedClientProvider(refreshing);
  }

  public static void main(String[] args) {
    SpringApplication.run(Program.class, args);
  }

  @EventListener
  void serves(ServletWebServerInitializedEvent event) {
    System.out.printf("Open http://localhost:%d%n", event.getWebServer().getPort());
  }

  @Bean
  SecurityFilterChain security(HttpSecurity http, ClientRegistrationRepository registrations) throws Exception {
    var tokens = new RestClientAuthorizationCodeTokenResponseClient();
    tokens.addParametersConverter(assertion());
    var atPostern = new OidcClientInitiatedLogoutSuccessHandler(registrations);
    atPostern.setPostLogoutRedirectUri("{baseUrl}/bye");
    return http.authorizeHttpRequests(requests -> requests.requestMatchers("/bye").permitAll().anyRequest().authenticated())
        .oauth2Login(login -> login.tokenEndpoint(endpoint -> endpoint.accessTokenResponseClient(tokens)))
        // A link of the user signs out, in place of a form with a token against forgery.
        .csrf(csrf -> csrf.disable())
        .logout(logout -> logout.logoutSuccessHandler(atPostern))
        .oidcLogout(logout -> logout.backChannel(Customizer.withDefaults()))
        .build();
  }

  /** The assertion of a client whose method is private_key_jwt; nothing for any other. */
  static <T extends AbstractOAuth2AuthorizationGrantRequest> NimbusJwtClientAuthenticationParametersConverter<T> assertion() {
    return new NimbusJwtClientAuthenticationParametersConverter<>(
        registration -> {
          try {
            return JWK.parse(System.getenv("PRIVATE_KEY"));
          } catch (ParseException cause) {
            throw new IllegalStateException(cause);
          }
        });
  }

  @GetMapping("/bye")
  String bye() {
    return "Nobody is signed in";
  }

  @Bean
  JwtDecoderFactory<ClientRegistration> idTokens(@Value("${ID_TOKEN_ALGORITHM}") String algorithm) {
    var factory = new OidcIdTokenDecoderFactory();
    factory.setJwsAlgorithmResolver(registration -> SignatureAlgorithm.from(algorithm));
    return factory;
  }

  @GetMapping("/")
  Map<String, Object> user(Authentication authentication) {
    var user = (OidcUser) authentication.getPrincipal();
    return Map.of("claims", user.getIdToken().getClaims(), "userinfo", user.getUserInfo().getClaims());
  }

  @GetMapping("/refresh")
  Map<String, Object> refresh(
      Authentication authentication, @RegisteredOAuth2AuthorizedClient("postern") OAuth2AuthorizedClient old) {
    var request = OAuth2AuthorizeRequest.withAuthorizedClient(old).principal(authentication).build();
    var fresh = manager.authorize(request);
    if (fresh.getAccessToken().getTokenValue().equals(old.getAccessToken().getTokenValue())) {
      throw new IllegalStateException("the tokens are the old ones");
    }
    return user(SecurityContextHolder.getContext().getAuthentication());
  }
}
