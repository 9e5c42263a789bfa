-- What earlier releases found an application to break gets the rules of RFC 9700, so that lists and counts show them at once. Whether a
-- host is the loopback address is judged here without its rare spellings; the next write of the application judges those as well.

-- step: batches of applications by app_id
update applications set compliance_problems = compliance_problems || '{IMPLICIT_ACCESS_TOKEN}'::text[]
where :batch and compliance_version = version and not compliance_problems @> '{IMPLICIT_ACCESS_TOKEN}'
  and oidc->'responseTypes' ? 'OIDC_RESPONSE_TYPE_ID_TOKEN_TOKEN';

-- step: batches of applications by app_id
update applications set compliance_problems = compliance_problems || '{HTTP_ON_CONFIDENTIAL_WEB}'::text[]
where :batch and compliance_version = version and not compliance_problems @> '{HTTP_ON_CONFIDENTIAL_WEB}'
  and coalesce(oidc->>'appType', 'OIDC_APP_TYPE_WEB') = 'OIDC_APP_TYPE_WEB' and oidc->>'devMode' is distinct from 'true'
  and oidc->>'authMethodType' is distinct from 'OIDC_AUTH_METHOD_TYPE_NONE'
  and oidc->'grantTypes' ? 'OIDC_GRANT_TYPE_AUTHORIZATION_CODE'
  and exists (select from jsonb_array_elements_text(oidc->'redirectUris') u (uri)
    where uri ~* '^http://' and uri !~* '^http://(localhost|127(\.[0-9]+){3}|\[::1\])(:[0-9]+)?([/?#]|$)');
