{{- define "postern.name" -}}
{{- $name := .Release.Name -}}
{{- if not (contains "postern" $name) }}{{ $name = printf "%s-postern" $name }}{{ end -}}
{{- trunc 53 $name | trimSuffix "-" -}}
{{- end }}

{{- define "postern.selector" -}}
app.kubernetes.io/name: postern
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "postern.labels" -}}
{{ include "postern.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "postern.image" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{- define "postern.confined" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{- define "postern.confinedPod" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "postern.fromSecret" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
{{- end }}

{{- define "postern.stop" -}}
{{- $time := fromJson (include "postern.stopTimes" .) -}}
{{- range $name, $usual := $time }}{{ $_ := set $time $name (int64 (index $.Values.settings $name | default $usual)) }}{{ end -}}
{{- $delivery := max $time.MAIL_TIMEOUT_MS $time.SMS_TIMEOUT_MS -}}
{{- $longest := divf (add $time.SHUTDOWN_DELAY_MS $time.SHUTDOWN_GRACE_MS $delivery) 1000 -}}
{{- if le (float64 .Values.terminationGracePeriodSeconds) $longest }}
{{- fail (printf "terminationGracePeriodSeconds: a stop may take %v s (SHUTDOWN_DELAY_MS, SHUTDOWN_GRACE_MS and the longer of MAIL_TIMEOUT_MS and SMS_TIMEOUT_MS), and a pod is killed after %v s" $longest .Values.terminationGracePeriodSeconds) }}
{{- end -}}
{{- end }}

{{- define "postern.env" -}}
{{- $known := splitList " " (include "postern.settingNames" .) -}}
{{- $own := list "HOST" "PORT" "PORT_SERVES" "OPERATIONS_PORT" "POSTERN_DATA_DIR" "TLS_CERT_FILE" "TLS_KEY_FILE" -}}
{{- $secret := list "DATABASE_URL" "MIGRATION_DATABASE_URL" "POSTERN_MASTER_KEY" "POSTERN_ADMIN_TOKEN" -}}
{{- $env := dict "HOST" "0.0.0.0" "PORT" "8080" "PORT_SERVES" (ternary "console" "none" .Values.console) "POSTERN_DATA_DIR" "/data" -}}
{{- $_ := set $env "OPERATIONS_PORT" (toString .Values.operationsPort) -}}
{{- if .Values.tls.secret }}{{ $_ = set $env "TLS_CERT_FILE" "/tls/tls.crt" }}{{ $_ = set $env "TLS_KEY_FILE" "/tls/tls.key" }}{{ end -}}
{{- if .Values.ingress.enabled }}
{{- if not .Values.ingress.host }}{{ fail "ingress.host: an Ingress needs the host name by which clients call" }}{{ end -}}
{{- if not (index .Values.settings "TRUSTED_PROXIES") }}{{ fail "settings.TRUSTED_PROXIES: an Ingress needs the addresses of its controller here, else all clients count as one address" }}{{ end -}}
{{- $_ = set $env "PUBLIC_URL" (printf "https://%s" .Values.ingress.host) -}}
{{- end }}
{{- range $name, $value := .Values.settings }}
{{- if not (has $name $known) }}{{ fail (printf "settings.%s: Postern has no such setting" $name) }}{{ end -}}
{{- if has $name $own }}{{ fail (printf "settings.%s: the chart sets it itself" $name) }}{{ end -}}
{{- if has $name $secret }}{{ fail (printf "settings.%s: it is a secret, and comes from the secret that secret.name names" $name) }}{{ end -}}
{{- $_ = set $env $name (toString $value) -}}
{{- end }}
{{- range $name, $value := $env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- $keys := dict "DATABASE_URL" .Values.secret.databaseUrl "POSTERN_MASTER_KEY" .Values.secret.masterKey -}}
{{- $_ = set $keys "POSTERN_ADMIN_TOKEN" .Values.secret.adminToken -}}
{{- $_ = set $keys "MIGRATION_DATABASE_URL" .Values.secret.migrationDatabaseUrl -}}
{{- $name := .Values.secret.name -}}
{{- range $setting, $key := $keys }}
{{- if $key }}
{{ include "postern.fromSecret" (dict "name" $setting "secret" $name "key" $key) }}
{{- end }}
{{- end }}
{{- range .Values.secretSettings }}
{{- if not (has .name $known) }}{{ fail (printf "secretSettings: Postern has no setting %s" .name) }}{{ end -}}
{{- if has .name $secret }}{{ fail (printf "secretSettings: %s comes from the secret that secret.name names" .name) }}{{ end -}}
{{- if hasKey $env .name }}{{ fail (printf "secretSettings: %s is given twice, here and by the chart or by settings" .name) }}{{ end -}}
{{- $_ = set $env .name "" }}
{{ include "postern.fromSecret" . }}
{{- end }}
{{- end }}

{{- define "postern.mounts" -}}
- name: data
  mountPath: /data
- name: tmp
  mountPath: /tmp
{{- if .Values.tls.secret }}
- name: tls
  mountPath: /tls
  readOnly: true
{{- end }}
{{- end }}

{{- define "postern.volumes" -}}
# Logs of senders that only log, and compiled code: nothing that a node would miss.
- name: data
  emptyDir:
    sizeLimit: 256Mi
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
{{- if .Values.tls.secret }}
- name: tls
  secret:
    secretName: {{ .Values.tls.secret }}
    defaultMode: 0440
{{- end }}
{{- end }}

{{- define "postern.probe" -}}
httpGet:
  path: {{ .path }}
  port: operations
  scheme: {{ ternary "HTTPS" "HTTP" (not (empty .Values.tls.secret)) }}
{{- end }}
