package postern;

import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.oauth2.jwt.JwtDecoder;
import org.springframework.security.oauth2.jwt.JwtValidators;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** A path for applications that send access tokens in JWT format (RFC 9068). */
@Configuration
@RestController
public class ResourceServer {
  @Bean
  @Order(1)
  SecurityFilterChain api(HttpSecurity http, JwtDecoder accessTokens) throws Exception {
    return http.securityMatcher("/api")
        .authorizeHttpRequests(requests -> requests.anyRequest().authenticated())
        .oauth2ResourceServer(server -> server.jwt(jwt -> jwt.decoder(accessTokens)))
        .build();
  }

  @Bean
  JwtDecoder accessTokens(
      @Value("${ISSUER}") String issuer, @Value("${PROJECT_ID}") String project, @Value("${CLIENT_ID}") String client) {
    var decoder = NimbusJwtDecoder.withIssuerLocation(issuer).validateType(false).build();
    decoder.setJwtValidator(JwtValidators.createAtJwtValidator().issuer(issuer).audience(project).clientId(client).build());
    return decoder;
  }

  @GetMapping("/api")
  Map<String, Object> claims(@AuthenticationPrincipal Jwt token) {
    return token.getClaims();
  }
}
